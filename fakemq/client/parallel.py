"""Several operations at once over plain sockets, for one thread."""

from __future__ import annotations

import selectors
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from fakemq.client.errors import (
    MQClientError,
    RemotingError,
    RemotingSendRequestError,
    RemotingTimeoutError,
)
from fakemq.client.operation import Call, Operation
from fakemq.client.remoting import BlockingChannel, BlockingRemoting
from fakemq.clock.machine_time import real_elapsed_ms
from fakemq.errors import FakemqError

T = TypeVar("T")
Done: TypeAlias = Callable[[T | FakemqError], None]
"""Called with the result of an operation, or with its error."""


class _Outcome(NamedTuple, Generic[T]):
    value: T | FakemqError


class _Waiting(NamedTuple):
    """A request that was sent, and the operation that waits for its response."""

    channel: BlockingChannel
    opaque: int
    timeout_ms: int
    until_ms: int
    operation: Operation[Any]
    done: Done[Any]


class Parallel:
    """Runs operations while others wait for their responses.

    A broker may handle two requests in any order, even on one connection. If one operation must
    come after another, start it when the other is done.
    """

    def __init__(self, remoting: BlockingRemoting) -> None:
        self._remoting = remoting
        self._waiting: list[_Waiting] = []

    def __len__(self) -> int:
        """Return how many operations are under way."""
        return len(self._waiting)

    def start(self, operation: Operation[T], done: Done[T]) -> None:
        """Run an operation until it waits for a response; ``done`` is called at its end."""
        self._advance(operation, done, partial(next, operation))

    def wait(self, timeout_ms: int) -> None:
        """Wait up to ``timeout_ms`` for responses, and continue their operations.

        If no operation is under way, wait for the whole time. An operation or ``done`` that raises
        anything but a FakemqError ends the call with it; the others continue with the next call.
        """
        now_ms = real_elapsed_ms()
        until_ms = min((one.until_ms for one in self._waiting), default=now_ms + timeout_ms)
        if any(one.channel.is_settled(one.opaque) for one in self._waiting):
            # A read for another request of the same connection has received this response too.
            until_ms = now_ms
        self._select(max(0, min(timeout_ms, until_ms - now_ms)))
        now_ms = real_elapsed_ms()
        waiting, self._waiting = deque(self._waiting), []
        try:
            while waiting:
                self._look(waiting.popleft(), now_ms)
        finally:
            self._waiting += waiting  # after an error that is not for the operation

    def _look(self, one: _Waiting, now_ms: int) -> None:
        response = one.channel.take(one.opaque)
        if response is not None:
            self._advance(one.operation, one.done, partial(one.operation.send, response))
        elif one.channel.closed:
            self._fail(one, RemotingSendRequestError(one.channel.addr))
        elif one.until_ms <= now_ms:
            one.channel.close()
            self._fail(one, RemotingTimeoutError(one.channel.addr, one.timeout_ms))
        else:
            self._waiting.append(one)

    def _select(self, timeout_ms: int) -> None:
        channels = {one.channel for one in self._waiting if not one.channel.closed}
        with selectors.DefaultSelector() as selector:
            for channel in channels:
                selector.register(channel.socket, selectors.EVENT_READ, channel)
            for key, _ in selector.select(timeout_ms / 1000):
                try:
                    key.data.poll(0)
                except RemotingSendRequestError:
                    continue  # the channel is closed now; `wait` fails its operations

    def _fail(self, one: _Waiting, error: RemotingError) -> None:
        self._advance(one.operation, one.done, partial(one.operation.throw, error))

    def _advance(self, operation: Operation[T], done: Done[T], resume: Callable[[], Call]) -> None:
        outcome = self._next_request(operation, done, resume)
        if outcome is not None:
            done(outcome.value)

    def _next_request(
        self, operation: Operation[T], done: Done[T], resume: Callable[[], Call]
    ) -> _Outcome[T] | None:
        """Send the operation's next request; return its outcome if it has ended."""
        while True:
            try:
                call = resume()
            except StopIteration as stop:
                return _Outcome(stop.value)
            except FakemqError as error:
                return _Outcome(error)
            try:
                channel = self._remoting.channel(call.addr)
                opaque = channel.send(call.command, timeout_ms=call.timeout_ms)
            except RemotingError as error:
                resume = partial(operation.throw, error)
                continue
            except MQClientError as error:  # the request cannot be sent at all
                operation.close()
                return _Outcome(error)
            if not call.command.is_oneway:
                until_ms = real_elapsed_ms() + call.timeout_ms
                self._waiting.append(
                    _Waiting(channel, opaque, call.timeout_ms, until_ms, operation, done)
                )
                return None
            resume = partial(operation.send, None)
