"""Connections of a client without sockets: a test plays the peers and moves the time."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from fakemq.client.carrier import Failure
from fakemq.client.carriers.connections import Channel, Connections
from fakemq.client.operation import Call
from fakemq.clock.timers import Domain, Timeline, Timer
from fakemq.protocol.command import FLAG_ONEWAY, FLAG_RESPONSE, RemotingCommand
from fakemq.protocol.connection import Connection

ADDR = "10.0.0.1:10911"
Outcome = RemotingCommand | Failure | None


class Peer:
    """The other end of one channel."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self._codec = Connection()

    def read(self) -> list[RemotingCommand]:
        """Return the commands that the client has sent since the last call."""
        commands = []
        while data := self.channel.data_to_send():
            commands += self._codec.receive_data(bytes(data))
            self.channel.data_sent(len(data))
        return commands

    def send(self, *commands: RemotingCommand) -> None:
        self.channel.data_received(b"".join(map(self._codec.encode, commands)))

    def answer(self, *requests: RemotingCommand) -> None:
        """Answer with the code of the request."""
        self.send(
            *(RemotingCommand(one.code, flag=FLAG_RESPONSE, opaque=one.opaque) for one in requests)
        )


class ChannelLab:
    """A `Shell` without sockets; ``outcomes`` has what each request's reply was called with."""

    def __init__(self, *, unsent_limit: int = 1 << 20) -> None:
        self.now_ms = 0
        self.connections = Connections(self, unsent_limit=unsent_limit)
        self.connected: list[Peer] = []
        """Every channel that was to be connected, in order."""
        self.to_write: list[Channel] = []
        self.disconnected: list[Channel] = []
        self.outcomes: list[list[Outcome]] = []
        self._timeline = Timeline()
        self._numbers = count()

    def elapsed_ms(self) -> int:
        return self.now_ms

    def call_later(self, delay_ms: int, callback: Callable[[], None], *, kind: str) -> Timer:
        assert delay_ms >= 0
        due_ms = self.now_ms + delay_ms
        number = next(self._numbers)
        timer = Timer(due_ms, number, callback, kind, "client", Domain.DEADLINE, True)
        self._timeline.push(timer)
        return timer

    def connect(self, channel: Channel) -> None:
        self.connected.append(Peer(channel))

    def write_soon(self, channel: Channel) -> None:
        self.to_write.append(channel)

    def disconnect(self, channel: Channel) -> None:
        self.disconnected.append(channel)

    # -- for tests ----------------------------------------------------------------

    def advance(self, ms: int) -> None:
        until_ms = self.now_ms + ms
        while (timer := self._timeline.pop_due(until_ms)) is not None:
            self.now_ms = timer.due_ms
            callback = timer.take()
            assert callback is not None
            callback()
        self.now_ms = until_ms

    @property
    def timers(self) -> list[str]:
        """The kinds of the pending timers."""
        return [timer.kind for timer in self._timeline.pending()]

    def request(
        self, code: int = 1, *, addr: str = ADDR, timeout_ms: int = 1_000, oneway: bool = False
    ) -> list[Outcome]:
        """Send a request; return the list of what its reply is called with."""
        outcome: list[Outcome] = []
        self.outcomes.append(outcome)
        command = RemotingCommand(code, flag=FLAG_ONEWAY if oneway else 0)
        self.connections.request(Call(addr, command, timeout_ms), outcome.append)
        return outcome

    def open(self, addr: str = ADDR) -> Peer:
        """Return the peer of an open channel, which has read a first one-way request."""
        self.request(addr=addr, oneway=True)
        peer = self.connected[-1]
        peer.channel.opened()
        peer.read()
        return peer


def codes(outcomes: list[list[Outcome]]) -> list[object]:
    """The codes of responses, and the classes of errors."""
    return [
        one.code if isinstance(one, RemotingCommand) else type(one)
        for outcome in outcomes
        for one in outcome
    ]
