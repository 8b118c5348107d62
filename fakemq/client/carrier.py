"""What carries out the steps of tasks: the only part of a client that knows its surroundings.

Three carriers have sockets: a thread (`fakemq.client.carriers.blocking`), the caller's thread
(`fakemq.client.carriers.callers_thread`) and anyio (`fakemq.client.carriers.asynchronous`); one has
the memory links and clock of a cluster (`fakemq.inside`). A carrier calls everything of its client
on one thread, one call at a time, so that the client's tables need no lock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from fakemq.client.errors import MQClientError, RemotingError
from fakemq.client.operation import Call
from fakemq.protocol.command import RemotingCommand

Failure: TypeAlias = RemotingError | MQClientError
Reply: TypeAlias = Callable[[RemotingCommand | Failure | None], None]
"""Called once, with the response, or with the error of the transport. None answers a one-way."""

Performed: TypeAlias = Callable[[object, BaseException | None], None]
"""Called once, with the result of a user's function, or with its error."""


Answer: TypeAlias = Callable[[RemotingCommand], None]
"""Sends a response, or a one-way request of the client, over the connection of a request."""

OnRequest: TypeAlias = Callable[[str, RemotingCommand, Answer], None]
"""Called with a broker's address and its request."""


class Cancellable(Protocol):
    """A timer or a call that can be cancelled; a cancelled or finished one stays as it is."""

    def cancel(self) -> None:
        """Cancel it."""


class Carrier(Protocol):
    """The clock, the transport and the callers of user functions of one client.

    No method waits. ``reply`` and ``done`` may be called before the method returns. Requests that
    a broker sends over a connection are passed to ``on_request``, which the client sets.
    """

    on_request: OnRequest

    def wall_ms(self) -> int:
        """Return wall time, in milliseconds since the epoch."""

    def elapsed_ms(self) -> int:
        """Return monotonic time, in milliseconds since an arbitrary moment."""

    def call_later(self, delay_ms: int, callback: Callable[[], None], *, kind: str) -> Cancellable:
        """Call ``callback`` after ``delay_ms``."""

    def soon(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` when the present call has returned."""

    def request(self, call: Call, reply: Reply) -> None:
        """Send a request; pass its response or error to ``reply``."""

    def perform(
        self, function: Callable[..., object], args: tuple[Any, ...], done: Performed
    ) -> Cancellable | None:
        """Call a function of the user; pass its result or error to ``done``.

        Cancelling cancels a coroutine; a plain function that runs already continues to its end.
        """
