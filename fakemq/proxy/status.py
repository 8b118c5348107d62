"""How an RPC failed, and what its answer says of it.

Source: proxy/grpc/v2/common/ResponseBuilder.java, GrpcProxyException.java (5.5.0)
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final

from fakemq.dispatch.answers import Reply
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.grpc.messages import Status
from fakemq.protocol.v5.codes import ResponseCode5

# The codes of answers, as numbers with names.
#
# protobuf's own enums are looked up by name with each use.
#
# Source: rocketmq-apis/apache/rocketmq/v2/definition.proto#Code (2.1.2)


class Code(IntEnum):
    """What an answer says of its success; a test compares these with the definition."""

    CODE_UNSPECIFIED = 0
    OK = 20000
    MULTIPLE_RESULTS = 30000
    BAD_REQUEST = 40000
    ILLEGAL_ACCESS_POINT = 40001
    ILLEGAL_TOPIC = 40002
    ILLEGAL_CONSUMER_GROUP = 40003
    ILLEGAL_MESSAGE_TAG = 40004
    ILLEGAL_MESSAGE_KEY = 40005
    ILLEGAL_MESSAGE_GROUP = 40006
    ILLEGAL_MESSAGE_PROPERTY_KEY = 40007
    INVALID_TRANSACTION_ID = 40008
    ILLEGAL_MESSAGE_ID = 40009
    ILLEGAL_FILTER_EXPRESSION = 40010
    ILLEGAL_INVISIBLE_TIME = 40011
    ILLEGAL_DELIVERY_TIME = 40012
    INVALID_RECEIPT_HANDLE = 40013
    MESSAGE_PROPERTY_CONFLICT_WITH_TYPE = 40014
    UNRECOGNIZED_CLIENT_TYPE = 40015
    MESSAGE_CORRUPTED = 40016
    CLIENT_ID_REQUIRED = 40017
    ILLEGAL_POLLING_TIME = 40018
    ILLEGAL_OFFSET = 40019
    ILLEGAL_LITE_TOPIC = 40020
    UNAUTHORIZED = 40100
    PAYMENT_REQUIRED = 40200
    FORBIDDEN = 40300
    NOT_FOUND = 40400
    MESSAGE_NOT_FOUND = 40401
    TOPIC_NOT_FOUND = 40402
    CONSUMER_GROUP_NOT_FOUND = 40403
    OFFSET_NOT_FOUND = 40404
    REQUEST_TIMEOUT = 40800
    PAYLOAD_TOO_LARGE = 41300
    MESSAGE_BODY_TOO_LARGE = 41301
    MESSAGE_BODY_EMPTY = 41302
    PRECONDITION_FAILED = 42800
    TOO_MANY_REQUESTS = 42900
    LITE_TOPIC_QUOTA_EXCEEDED = 42901
    LITE_SUBSCRIPTION_QUOTA_EXCEEDED = 42902
    REQUEST_HEADER_FIELDS_TOO_LARGE = 43100
    MESSAGE_PROPERTIES_TOO_LARGE = 43101
    INTERNAL_ERROR = 50000
    INTERNAL_SERVER_ERROR = 50001
    HA_NOT_AVAILABLE = 50002
    NOT_IMPLEMENTED = 50100
    PROXY_TIMEOUT = 50400
    MASTER_PERSISTENCE_TIMEOUT = 50401
    SLAVE_PERSISTENCE_TIMEOUT = 50402
    UNSUPPORTED = 50500
    VERSION_UNSUPPORTED = 50501
    VERIFY_FIFO_MESSAGE_UNSUPPORTED = 50502
    FAILED_TO_CONSUME_MESSAGE = 60000


_FAQ: Final = (
    "\nFor more information, please visit the url,"
    " https://rocketmq.apache.org/docs/bestPractice/06FAQ"
)
"""Behind each text of a Java client's exception."""
PROXY_EXCEPTION: Final = "org.apache.rocketmq.proxy.common.ProxyException: "

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
    return RpcError(code, PROXY_EXCEPTION + text)


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
