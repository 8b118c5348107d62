"""A client program in the simulator: the project's client core on virtual time.

A client runs *tasks*: generators that yield a `Call`, as an operation of the client core does, or
a `Sleep`. Timers and responses resume them.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from enum import Enum, auto
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
    """Resume the task after this number of milliseconds of virtual time."""

    ms: int


Task: TypeAlias = Generator[Call | Sleep, RemotingCommand | None, None]


class SimulatedClient:
    """One client program: its name is its client id; clock and connections are its own."""

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
        self.outbound = Outbound(self, core.network, dispatch=self._handle_request)
        self.alive = False
        self._tasks: list[_RunningTask] = []
        config = ClientConfig(
            client_id=name, seed=draw.getrandbits(32), send_timeout_ms=send_timeout_ms
        )
        self.instance = ClientInstance(
            ";".join(core.namesrv_addrs), config, time=_NodeTime(self.clock), ip="127.0.0.1", pid=1
        )

    # -- life ------------------------------------------------------------------

    def start(self) -> None:
        """Start the heartbeat and the client's own `tasks`."""
        self.alive = True
        self.journal.add(NodeStarted(node=self.name, addr=self.name))
        for task in (self._heartbeats(), *self.tasks()):
            self.run(task)

    def tasks(self) -> list[Task]:
        """Return the tasks that run in parallel as long as the client lives."""
        return []

    def run(self, task: Task) -> None:
        """Run one more task; it begins at once."""
        running = _RunningTask(self, task)
        self._tasks.append(running)
        running.resume()

    def ended(self, running: _RunningTask) -> None:
        """A task calls this when it has returned."""
        if running in self._tasks:
            self._tasks.remove(running)

    def kill(self, *, silently: bool) -> None:
        """End at once. ``silently``, as when its machine dies: no peer sees a connection close."""
        if not self.alive:
            return
        self.alive = False
        tasks, self._tasks = self._tasks, []
        for running in tasks:
            running.end()
        self.clock.cancel_all()
        if silently:
            self.outbound.pause()
        else:
            self.outbound.close("client killed")
        self.journal.add(NodeStopped(node=self.name, how="vanish" if silently else "kill"))

    def session_closed(self, session: Session) -> None:
        """Nothing to do: `Outbound` answers each open request with None."""

    def _heartbeats(self) -> Task:
        yield Sleep(FIRST_HEARTBEAT_MS)
        while True:
            # Java refreshes its routes as often: an idle client learns of a restarted broker.
            for topic in list(self.instance.routes.routes):
                with suppress(RemotingError, MQBrokerError):
                    yield from self.instance.update_route(topic)
            yield from self.instance.heartbeat()
            yield Sleep(HEARTBEAT_MS)

    def _handle_request(self, session: Session, request: RemotingCommand) -> None:
        """Answer a request of a broker, as the client core decides."""
        answer = self.instance.handle(session.remote_addr, request)
        if answer is not None and answer.is_oneway:
            session.invoke_oneway(answer)
        elif answer is not None:
            session.send(answer, answers=request.code)

    def __repr__(self) -> str:
        return f"<client {self.name}, {len(self._tasks)} tasks>"


class _NodeTime:
    """A node's clock in the form that the client core expects."""

    def __init__(self, clock: NodeClock) -> None:
        self.wall_ms = clock.now_ms
        self._clock = clock

    def elapsed_ms(self) -> int:
        return self._clock.elapsed_ms()


class _RunningTask:
    """A task and the step that it waits for."""

    def __init__(self, client: SimulatedClient, task: Task) -> None:
        self._client = client
        self._task = task
        self._over = False

    def resume(self) -> None:
        """Resume it after a sleep, or start it."""
        self._step(None, None)

    def end(self) -> None:
        """End it; it is never resumed again."""
        self._over = True
        self._task.close()

    def _step(self, response: RemotingCommand | None, error: RemotingError | None) -> None:
        client = self._client
        while not self._over:
            try:
                task = self._task
                step = task.send(response) if error is None else task.throw(error)
            except StopIteration:
                self._over = True
                client.ended(self)
                return
            if isinstance(step, Sleep):
                client.clock.call_later(step.ms, self.resume, kind="sim_client")
                return
            if step.command.is_oneway:
                client.outbound.invoke_oneway(step.addr, step.command)
                response = error = None
                continue
            request = _OpenRequest(self, step)
            if not request.send(client.outbound):
                return
            response, error = request.response, request.error

    def answered(self, request: _OpenRequest) -> None:
        """Resume the task with the response, or with the error in its place."""
        if not self._over:
            self._step(request.response, request.error)


class _RequestState(Enum):
    """The state of a request: SENDING → WAITING → OVER, or SENDING → OVER."""

    SENDING = auto()
    """A reply that comes now is returned by `_OpenRequest.send`; the task is running."""
    WAITING = auto()
    """The task is suspended: a reply resumes it."""
    OVER = auto()


class _OpenRequest:
    """One request that waits for its response."""

    def __init__(self, task: _RunningTask, call: Call) -> None:
        self._task = task
        self._call = call
        self._state = _RequestState.SENDING
        self._session: Session | None = None
        self.response: RemotingCommand | None = None
        self.error: RemotingError | None = None

    def send(self, outbound: Outbound) -> bool:
        """Send it. Return True if it already ended, as when the peer cannot be reached."""
        addr, command, timeout_ms = self._call
        outbound.invoke(addr, command, timeout_ms, self._reply)
        self._session = outbound.session(addr)
        if self._state is _RequestState.OVER:
            return True
        self._state = _RequestState.WAITING
        return False

    def _reply(self, response: RemotingCommand | None) -> None:
        state, self._state = self._state, _RequestState.OVER
        self.response = response
        if response is None:
            self.error = self._failure()
        if state is _RequestState.WAITING:
            self._task.answered(self)

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
    """Return the text of an error for the journal."""
    return f"{type(error).__name__}: {error}"
