"""What can go wrong for a client.

A server cannot cause any other error here, whatever it answers. A wrong argument of the caller is a
TypeError or ValueError, as usual; for a number that does not fit its field it is a ConfigError,
before the request is sent. An error of the caller's own functions is raised as it is.

FakemqError
 ├─ MQClientError                  the client itself sees that it cannot be done
 │   └─ RequestTimeoutError          a request was sent, but no reply came; also a TimeoutError
 ├─ MQBrokerError                  a server answered with an error
 └─ RemotingError                  the transport failed
     ├─ RemotingConnectError         no peer answers at the address; also a ConnectionError
     ├─ RemotingSendRequestError     the connection was lost; also a ConnectionError
     ├─ RemotingTimeoutError         no response in time; also a TimeoutError
     ├─ RemotingCommandError         the response is not what its request asked for
     └─ RemotingTooMuchRequestError  the time for all attempts is used up; also a TimeoutError

Source: client/exception/*.java, remoting/exception/*.java (4.9.7)
"""

from __future__ import annotations

from fakemq.errors import FakemqError
from fakemq.protocol.codes import ResponseCode


class MQClientError(FakemqError):
    """The client cannot do it; ``code`` is Java's response code, -1 if there is none."""

    def __init__(self, text: str, code: int = -1) -> None:
        super().__init__(text)
        self.code = code


class RequestTimeoutError(MQClientError, TimeoutError):
    """A request message was sent, but no reply came in time.

    Source: client/exception/RequestTimeoutException.java (4.9.7)
    """


class MQBrokerError(FakemqError):
    """A broker or name server answered with ``code`` and ``remark``.

    ``detail`` is what the client knows besides.
    """

    def __init__(self, code: int, remark: str | None, addr: str, detail: str = "") -> None:
        super().__init__(f"{_code_text(code)} from {addr}: {remark}{detail}")
        self.code = code
        self.remark = remark
        self.addr = addr


class RemotingError(FakemqError):
    """The transport failed at ``addr``."""

    def __init__(self, text: str, addr: str = "") -> None:
        super().__init__(text)
        self.addr = addr


class RemotingConnectError(RemotingError, ConnectionError):
    """No peer answers at the address, for ``reason``; ``advice`` says what may help."""

    def __init__(self, addr: str, reason: str = "", advice: str = "") -> None:
        why = "".join(f": {text}" for text in (reason, advice) if text)
        super().__init__(f"connect to {addr} failed{why}", addr)
        self.reason = reason
        self.advice = advice


class RemotingSendRequestError(RemotingError, ConnectionError):
    """The connection was lost before the response came."""

    def __init__(self, addr: str) -> None:
        super().__init__(f"send request to <{addr}> failed", addr)


class RemotingTimeoutError(RemotingError, TimeoutError):
    """No response came in time."""

    def __init__(self, addr: str, timeout_ms: int) -> None:
        super().__init__(f"wait response on the channel <{addr}> timeout, {timeout_ms}(ms)", addr)


class RemotingCommandError(RemotingError):
    """The response is not what its request asked for: a field is missing, or its body is damaged.

    Source: remoting/exception/RemotingCommandException.java (4.9.7)
    """

    def __init__(self, addr: str, problem: object) -> None:
        super().__init__(f"cannot read the response of {addr or 'a peer'}: {problem}", addr)


class RemotingTooMuchRequestError(RemotingError, TimeoutError):
    """The time for all attempts together is used up."""


def system_reason(error: Exception) -> str:
    """Return the words of the system for an error of a socket."""
    reason = error.strerror if isinstance(error, OSError) else None
    return reason or str(error)


def _code_text(code: int) -> str:
    try:
        return f"{ResponseCode(code).name} ({code})"
    except ValueError:
        return f"code {code}"
