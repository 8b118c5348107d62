"""A client program that lives in the simulator: the project's client core on virtual time.

What it does are *lives*: generators that yield a `Call`, as an operation of the client core does,
or a `Sleep`. The client resumes them with what came of it, from timers and answers.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from fakemq.client.errors import (
    MQBrokerError,
    RemotingConnectError,
    RemotingError,
    RemotingSendRequestError,
    RemotingTimeoutError,
)
from fakemq.client.instance import ClientInstance
from fakemq.client.operation import Call
from fakemq.client.options import ClientConfig
from fakemq.clock.node_clock import NodeClock
from fakemq.errors import FakemqError
from fakemq.events.core import NodeStarted, NodeStopped
from fakemq.net.outbound import Outbound
from fakemq.protocol.command import RemotingCommand

if TYPE_CHECKING:
    import random

    from fakemq.core.cluster import ClusterCore
    from fakemq.net.session import Session

HEARTBEAT_MS = 30_000
"""Source: client/ClientConfig.java#heartbeatBrokerInterval (4.9.7)"""

FIRST_HEARTBEAT_MS = 1_000
"""Source: client/impl/factory/MQClientInstance.java#startScheduledTask (4.9.7)"""

API_TIMEOUT_MS = 3_000


class Sleep(NamedTuple):
    """Go on after so many milliseconds of virtual time."""

    ms: int


Life: TypeAlias = Generator[Call | Sleep, RemotingCommand | None, None]


class Client:
    """One program with its own name, clock, connections and client id, which is its name."""

    def __init__(
        self,
        core: ClusterCore,
        name: str,
        draw: random.Random,
        send_timeout_ms: int = API_TIMEOUT_MS,
    ) -> None:
        self.name = name
        self.core = core
        self.journal = core.journal
        self.clock = NodeClock(core.clock, name, core.journal)
        self.random = draw
        self.outbound = Outbound(self, core.network, dispatch=self._asked)
        self.alive = False
        self._lives: list[_Living] = []
        config = ClientConfig(
            client_id=name, seed=draw.getrandbits(32), send_timeout_ms=send_timeout_ms
        )
        self.instance = ClientInstance(
            ";".join(core.namesrv_addrs), config, time=_NodeTime(self.clock), ip="127.0.0.1", pid=1
        )

    # -- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to live; a kind of client adds its own `lives`."""
        self.alive = True
        self.journal.add(NodeStarted(node=self.name, addr=self.name))
        for life in (self._heartbeats(), *self.lives()):
            self.live(life)

    def lives(self) -> list[Life]:
        """What this client does all along, at once."""
        return []

    def live(self, life: Life) -> None:
        """Do this too, beginning in this moment."""
        living = _Living(self, life)
        self._lives.append(living)
        living.go_on()

    def ended(self, living: _Living) -> None:
        """One of its lives came to its end."""
        if living in self._lives:
            self._lives.remove(living)

    def kill(self, *, silently: bool) -> None:
        """Be gone at once; ``silently``, as with its machine, so that no peer sees it go."""
        if not self.alive:
            return
        self.alive = False
        lives, self._lives = self._lives, []
        for living in lives:
            living.end()
        self.clock.cancel_all()
        if silently:
            self.outbound.pause()
        else:
            self.outbound.close("client killed")
        self.journal.add(NodeStopped(node=self.name, how="vanish" if silently else "kill"))

    def session_closed(self, session: Session) -> None:
        """Nothing to do: whoever waits for an answer is told that there is none."""

    def _heartbeats(self) -> Life:
        yield Sleep(FIRST_HEARTBEAT_MS)
        while True:
            # Java asks for its routes as often: who is silent hears of a broker that is back.
            for topic in list(self.instance.routes.routes):
                with suppress(RemotingError, MQBrokerError):
                    yield from self.instance.update_route(topic)
            yield from self.instance.heartbeat()
            yield Sleep(HEARTBEAT_MS)

    def _asked(self, session: Session, request: RemotingCommand) -> None:
        """A broker asks: the client core knows what to answer."""
        answer = self.instance.handle(session.remote_addr, request)
        if answer is not None and answer.is_oneway:
            session.invoke_oneway(answer)
        elif answer is not None:
            session.send(answer, answers=request.code)

    def __repr__(self) -> str:
        return f"<client {self.name}, {len(self._lives)} lives>"


class _NodeTime:
    """The time by which a node lives, as the client core asks for it."""

    def __init__(self, clock: NodeClock) -> None:
        self.wall_ms = clock.now_ms
        self._clock = clock

    def elapsed_ms(self) -> int:
        return self._clock.elapsed_ms()


class _Living:
    """One generator that is being lived: what it yielded is under way."""

    def __init__(self, client: Client, life: Life) -> None:
        self._client = client
        self._life = life
        self._over = False

    def go_on(self) -> None:
        """Resume it after a sleep, or for the first time."""
        self._step(None, None)

    def end(self) -> None:
        """Never resume it again."""
        self._over = True
        self._life.close()

    def _step(self, response: RemotingCommand | None, error: RemotingError | None) -> None:
        client = self._client
        while not self._over:
            try:
                life = self._life
                step = life.send(response) if error is None else life.throw(error)
            except StopIteration:
                self._over = True
                client.ended(self)
                return
            if isinstance(step, Sleep):
                client.clock.call_later(step.ms, self.go_on, kind="sim_client")
                return
            if step.command.is_oneway:
                client.outbound.invoke_oneway(step.addr, step.command)
                response = error = None
                continue
            asking = _Asking(self, step)
            if not asking.ask(client.outbound):
                return
            response, error = asking.response, asking.error

    def answered(self, asking: _Asking) -> None:
        """The answer came, or what is in its place."""
        if not self._over:
            self._step(asking.response, asking.error)


class _Asking:
    """One request under way; who cannot be reached is known at once."""

    def __init__(self, living: _Living, call: Call) -> None:
        self._living = living
        self._call = call
        self._under_way = False
        self._over = False
        self._session: Session | None = None
        self.response: RemotingCommand | None = None
        self.error: RemotingError | None = None

    def ask(self, outbound: Outbound) -> bool:
        """Send it; True if it is over already."""
        addr, command, timeout_ms = self._call
        outbound.invoke(addr, command, timeout_ms, self._reply)
        self._session = outbound.session(addr)
        self._under_way = not self._over
        return self._over

    def _reply(self, response: RemotingCommand | None) -> None:
        self.response, self._over = response, True
        if response is None:
            self.error = self._failure()
        if self._under_way:
            self._living.answered(self)

    def _failure(self) -> RemotingError:
        addr, _, timeout_ms = self._call
        session = self._session
        if session is None:
            return RemotingConnectError(addr)
        if session.closed:
            return RemotingSendRequestError(addr)
        session.close("no response in time")  # as Java does
        return RemotingTimeoutError(addr, timeout_ms)


def why(error: FakemqError) -> str:
    """What went wrong, for the journal."""
    return f"{type(error).__name__}: {error}"
