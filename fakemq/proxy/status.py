"""How an RPC failed, and what its answer says of it.

Source: proxy/grpc/v2/common/ResponseBuilder.java, GrpcProxyException.java (5.5.0)
"""

from __future__ import annotations

from typing import Any, Final

from fakemq.dispatch.answers import Reply
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.grpc.messages import Status
from fakemq.protocol.v5.codes import ResponseCode5
from fakemq.proxy.codes import Code

_FAQ: Final = (
    "\nFor more information, please visit the url,"
    " https://rocketmq.apache.org/docs/bestPractice/06FAQ"
)
"""Behind each text of a Java client's exception."""
_PROXY_EXCEPTION: Final = "org.apache.rocketmq.proxy.common.ProxyException: "

_CODES: Final[dict[int, Code]] = {
    ResponseCode.SUCCESS: Code.OK,
    ResponseCode.SYSTEM_BUSY: Code.TOO_MANY_REQUESTS,
    ResponseCode.REQUEST_CODE_NOT_SUPPORTED: Code.NOT_IMPLEMENTED,
    ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST: Code.CONSUMER_GROUP_NOT_FOUND,
    ResponseCode5.LMQ_QUOTA_EXCEEDED: Code.LITE_TOPIC_QUOTA_EXCEEDED,
    ResponseCode5.LITE_SUBSCRIPTION_QUOTA_EXCEEDED: Code.LITE_SUBSCRIPTION_QUOTA_EXCEEDED,
}

OK: Final = Status(code=Code.OK, message=Code.OK.name)  # type: ignore[arg-type]


class RpcError(Exception):
    """An RPC fails with a code and a text, which are Java's."""

    def __init__(self, code: Code, text: str, message: str | None = None) -> None:
        super().__init__(f"{code.name}: {text}")
        self.code = code
        self.text = text
        self.message = text if message is None else message
        """The message of Java's exception itself, as the end of a telemetry stream says it."""

    @property
    def status(self) -> Status:
        return status(self.code, self.text)

    @property
    def is_final(self) -> bool:
        """Whether the broker that a handle names does not exist, or the handle is no good."""
        return self.code in (Code.BAD_REQUEST, Code.INVALID_RECEIPT_HANDLE)


def proxy_error(code: Code, text: str) -> RpcError:
    """Return an error whose text names Java's ProxyException."""
    return RpcError(code, _PROXY_EXCEPTION + text)


def java_error(text: str, exception: str, place: str) -> RpcError:
    """Return the error for an exception that Java's proxy does not expect.

    Source: common/utils/ExceptionUtils.java#getErrorDetailMessage (5.5.0)
    """
    return RpcError(Code.INTERNAL_SERVER_ERROR, f"{text}. {exception}. {place}", text)


def topic_not_found(text: str) -> RpcError:
    """Return the error of a topic that does not exist; ``text`` says what misses it."""
    code = ResponseCode.TOPIC_NOT_EXIST
    return RpcError(Code.TOPIC_NOT_FOUND, f"CODE: {code:d}  DESC: {text}{_FAQ}")


def broker_error(reply: Reply[Any], addr: str) -> RpcError:
    """Return the error for a broker's refusal.

    Source: client/exception/MQBrokerException.java (5.5.0)
    """
    if reply.code == ResponseCode.TOPIC_NOT_EXIST:
        return topic_not_found(f"{reply.remark} BROKER: {addr}")
    code = code_of(reply.code)
    return RpcError(code, code.name if reply.remark is None else reply.remark)


def code_of(response_code: int) -> Code:
    """Return the code for a response code of a broker."""
    return _CODES.get(response_code, Code.INTERNAL_SERVER_ERROR)


def status(code: Code, text: str | None = None) -> Status:
    """Return a status; without a text, its text is the code's name."""
    if code is Code.OK and text is None:
        return OK
    return Status(code=int(code), message=code.name if text is None else text)  # type: ignore[arg-type]


def status_of_all(codes: set[int], empty: str) -> Status:
    """Return the status of an answer with several results, by their codes."""
    if not codes:
        return status(Code.INTERNAL_SERVER_ERROR, empty)
    if len(codes) > 1:
        return status(Code.MULTIPLE_RESULTS)
    return status(Code(next(iter(codes))))
