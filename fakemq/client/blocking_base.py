"""What a client in the thread of its caller does beside an asynchronous one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Self, TypeAlias, TypeVar

from fakemq.client.arguments import require_wait
from fakemq.client.carriers.callers_thread import CallerCarrier
from fakemq.client.carriers.pipeline import Pipeline
from fakemq.client.instance import ClientInstance
from fakemq.client.tasks import Task
from fakemq.errors import FakemqError


class ClientBase:
    """A client that moves on only while a call waits."""

    instance: ClientInstance
    _carrier: CallerCarrier

    def parallel(self) -> Parallel:
        """Return a `Parallel` to run several operations at once over these connections."""
        return Parallel(self._carrier)

    def poll(self, *, timeout_ms: int) -> None:
        """Wait up to ``timeout_ms`` for requests from brokers, and answer them.

        They are answered while any other call waits, too.
        """
        require_wait(timeout_ms)
        self._carrier.poll(timeout_ms)

    def channel(self, addr: str) -> Pipeline:
        """Return the connection to an address, for several requests at once.

        It is opened with the first request. If no peer answers, each response is a
        RemotingConnectError.
        """
        return Pipeline(self._carrier, addr)

    def close(self) -> None:
        """Leave all groups and close every connection.

        A client serves the process that created it: in a forked child this only drops the child's
        copies of the connections, and every other call raises MQClientError.
        """
        if self._carrier.is_usable:
            try:
                self._carrier.run(self.instance.unregister_all())
            finally:
                self._carrier.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# Several operations at once, for one thread.

T = TypeVar("T")
Done: TypeAlias = Callable[[T | FakemqError], None]
"""Called with the result of an operation, or with its error."""


class _Ended(NamedTuple):
    done: Done[Any]
    value: Any
    error: BaseException | None


class Parallel:
    """Runs operations while others wait for their responses.

    A broker may handle two requests in any order, even on one connection. If one operation must
    come after another, start it when the other is done.
    """

    def __init__(self, carrier: CallerCarrier) -> None:
        self._carrier = carrier
        self._under_way = 0
        self._ended: deque[_Ended] = deque()

    def __len__(self) -> int:
        """Return how many operations are under way."""
        return self._under_way

    def start(self, operation: Task[T], done: Done[T]) -> None:
        """Run an operation until it waits for a response; ``done`` is called at its end."""
        self._under_way += 1
        try:
            self._carrier.begin(operation, partial(self._end, done))
        except BaseException:
            self._under_way -= 1
            raise
        self._call_done()

    def _end(self, done: Done[T], value: T | None, error: BaseException | None) -> None:
        self._ended.append(_Ended(done, value, error))

    def wait(self, timeout_ms: int) -> None:
        """Wait up to ``timeout_ms`` for an operation to end, and continue all of them.

        If no operation is under way, wait for the whole time. An operation or ``done`` that raises
        anything but a FakemqError ends the call with it; the others continue with the next call.
        """
        carrier = self._carrier
        until_ms = carrier.elapsed_ms() + timeout_ms
        left_ms = timeout_ms
        while not self._ended:
            carrier.turn(left_ms)
            left_ms = until_ms - carrier.elapsed_ms()
            if left_ms <= 0:
                break
        self._call_done()

    def _call_done(self) -> None:
        while self._ended:
            done, value, error = self._ended.popleft()
            self._under_way -= 1
            if error is None:
                done(value)
            elif isinstance(error, FakemqError):
                done(error)
            else:
                raise error
