"""Several requests at once over one connection, whose responses are taken when they are wanted."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from fakemq.client.carrier import Failure
from fakemq.client.carriers.callers_thread import CallerCarrier
from fakemq.client.carriers.connections import CONNECT_TIMEOUT_MS
from fakemq.client.errors import RemotingTimeoutError
from fakemq.client.operation import Call
from fakemq.protocol.command import RemotingCommand

_NEVER_MS = 1 << 52
"""The connection has no time-out of its own: a caller may be late to take what has arrived."""


class Pipeline:
    """The requests of one caller to one address. A number stands for each until it is received."""

    def __init__(self, carrier: CallerCarrier, addr: str) -> None:
        self.addr = addr
        self._carrier = carrier
        self._number = 0
        self._outcomes: dict[int, RemotingCommand | Failure | None] = {}
        self._waiting: set[int] = set()

    def send(self, command: RemotingCommand, *, timeout_ms: int = CONNECT_TIMEOUT_MS) -> int:
        """Send a request; return its number, the argument of `receive`."""
        return self.send_all((command,), timeout_ms=timeout_ms)[0]

    def send_all(
        self, commands: Iterable[RemotingCommand], *, timeout_ms: int = CONNECT_TIMEOUT_MS
    ) -> list[int]:
        """Send requests in one piece, so that the peer wakes up once; return their numbers.

        Each command is encoded before the next one is taken, so a caller may yield the same object
        again with changed fields. A peer that reads nothing for ``timeout_ms`` is left.
        """
        numbers = []
        for command in commands:
            self._number = number = self._number + 1
            numbers.append(number)
            self._waiting.add(number)
            call = Call(self.addr, command, _NEVER_MS)
            self._carrier.request(call, partial(self._answered, number))
        self._carrier.flush(timeout_ms)
        return numbers

    def _answered(self, number: int, outcome: RemotingCommand | Failure | None) -> None:
        if number in self._waiting:
            self._waiting.discard(number)
            self._outcomes[number] = outcome

    def receive(self, number: int, timeout_ms: int) -> RemotingCommand:
        """Return the response to a request; raise its error.

        A response that is late closes the connection, and raises RemotingTimeoutError.
        """
        carrier, outcomes = self._carrier, self._outcomes
        until_ms = carrier.elapsed_ms() + timeout_ms
        while number not in outcomes:
            left_ms = until_ms - carrier.elapsed_ms()
            if left_ms <= 0:
                self.forget(number)
                self.close()
                raise RemotingTimeoutError(self.addr, timeout_ms)
            carrier.turn(left_ms)
        outcome = outcomes.pop(number)
        if isinstance(outcome, Exception):
            raise outcome
        assert outcome is not None, "a one-way request has no response"
        return outcome

    def forget(self, number: int) -> None:
        """Drop the response to a request, whether it has arrived or not."""
        self._waiting.discard(number)
        self._outcomes.pop(number, None)

    def close(self) -> None:
        """Close the connection; the next request opens another one."""
        self._carrier.leave(self.addr)

    def __repr__(self) -> str:
        return f"<requests to {self.addr}, {len(self._waiting)} wait>"
