"""Addresses that do not answer: each costs a command one time-out, not one for each request."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

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

        response: RemotingCommand | None = None
        error: RemotingError | None = None
        while True:
            try:
                if error is None:
                    call = operation.send(response)
                else:
                    call = operation.throw(error.with_traceback(None))
            except StopIteration as end:
                result: T = end.value
                return result
            response, error = None, self._errors.get(call.addr)
            if error is not None:
                continue
            try:
                response = yield call
            except RemotingError as failure:
                error = failure
                if isinstance(failure, (RemotingTimeoutError, RemotingConnectError)):
                    self._errors[call.addr] = failure
