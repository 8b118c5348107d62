"""Addresses that do not answer: each costs a command one time-out, not one for each request."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from fakemq.later import End, resumed

if TYPE_CHECKING:
    from fakemq.client.errors import RemotingError
    from fakemq.client.operation import Operation
    from fakemq.protocol.command import RemotingCommand

T = TypeVar("T")


class Silence:
    """Remembers which addresses did not answer in time, or refused the connection."""

    def __init__(self) -> None:
        self._errors: dict[str, RemotingError] = {}

    def forget(self) -> None:
        """Send requests to every address again."""
        self._errors.clear()

    def spared(self, operation: Operation[T]) -> Operation[T]:
        """Run an operation; a request to a silent address fails at once with its first error."""
        from fakemq.client.errors import RemotingConnectError, RemotingError, RemotingTimeoutError

        sent: RemotingCommand | RemotingError | None = None
        while not isinstance(call := resumed(operation, sent), End):
            known = self._errors.get(call.addr)
            if known is not None:
                sent = known.with_traceback(None)
                continue
            try:
                sent = yield call
            except RemotingError as failure:
                sent = failure.with_traceback(None)
                if isinstance(failure, (RemotingTimeoutError, RemotingConnectError)):
                    self._errors[call.addr] = failure
        return call.value
