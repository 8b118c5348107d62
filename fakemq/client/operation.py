"""Operations: the logic of a client, without the transport.

An operation is a generator. It yields a `Call` for every request to send, and is resumed with the
response. If a transport fails, it throws its `RemotingError` into the generator. So the retry at
the next name server or broker is written once, for blocking and asynchronous programs.
"""

from __future__ import annotations

from collections.abc import Generator
from types import TracebackType
from typing import NamedTuple, TypeAlias, TypeVar

from fakemq.client.arguments import require_wait
from fakemq.client.errors import MQBrokerError, RemotingCommandError
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import FLAG_ONEWAY, RemotingCommand
from fakemq.protocol.errors import ProtocolError


class Call(NamedTuple):
    """One request to send to ``addr``; the response to a one-way command is None, at once."""

    addr: str
    command: RemotingCommand
    timeout_ms: int


T = TypeVar("T")
Operation: TypeAlias = Generator[Call, RemotingCommand | None, T]


def ask(addr: str, command: RemotingCommand, timeout_ms: int) -> Operation[RemotingCommand]:
    """Send a request and return its response, with any code.

    Raise ConfigError for a time that no socket can wait.
    """
    require_wait(timeout_ms)
    response = yield Call(addr, command, timeout_ms)
    assert response is not None, "a transport answers every request or throws"
    return response


def ask_ok(addr: str, command: RemotingCommand, timeout_ms: int) -> Operation[RemotingCommand]:
    """Send a request and return its response; raise MQBrokerError unless it is a SUCCESS."""
    response = yield from ask(addr, command, timeout_ms)
    if response.code != ResponseCode.SUCCESS:
        raise MQBrokerError(response.code, response.remark, addr)
    return response


def tell(addr: str, command: RemotingCommand, timeout_ms: int) -> Operation[None]:
    """Send a request that has no response."""
    command.flag |= FLAG_ONEWAY
    yield Call(addr, command, timeout_ms)


class Reading:
    """Around everything that reads a response: ``with Reading(addr):``.

    Raise RemotingCommandError if the response cannot be read. As a `RemotingError` it is treated
    like a lost connection: a producer tries the next broker, as in Java.
    """

    __slots__ = ("_addr",)

    def __init__(self, addr: str | None) -> None:
        self._addr = addr or ""

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, ProtocolError):
            raise RemotingCommandError(self._addr, error) from error
