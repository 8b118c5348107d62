"""A handler's argument and its results: a request, and an answer now, later or never."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, Generic, TypeAlias

import msgspec

from fakemq.later import Later
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import Body, RemotingCommand, SerializeType
from fakemq.protocol.send_answers import SendAnswer, send_answer_fields
from fakemq.protocol.table import RequestHeader, ResponseHeader

if TYPE_CHECKING:
    from fakemq.events.core import Delivered
    from fakemq.journal.journal import Cause
    from fakemq.net.session import Session
    from fakemq.reference import Reference

NOTHING_SAID = "not set any response code"
"""The remark of responses for which Java sets none: Java creates every response with it."""

OVERLOAD = "[OVERLOAD]system busy, start flow control for a while"
"""The remark of SYSTEM_BUSY for a request that finds too many others before it. A 4.9.7 consumer
pulls again after a second (pullTimeDelayMillsWhenException).

Source: remoting/netty/NettyRemotingAbstract.java#processRequestCommand (4.9.7)
"""

REJECTED = "[REJECTREQUEST]system busy, start flow control for a while"
"""The remark of SYSTEM_BUSY for a request that its processor takes none of at the moment.

Source: remoting/netty/NettyRemotingAbstract.java#processRequestCommand (4.9.7)
"""


class Refused(Exception):  # noqa: N818  # an answer, not an error of ours
    """Raised to answer a request with an error code; not a bug.

    ``remark`` is Java's text, verbatim.
    """

    def __init__(self, code: IntEnum, remark: str | None) -> None:
        super().__init__(f"{code.name}: {remark}")
        self.code = code
        self.remark = remark

    def code_in(self, reference: Reference) -> int:
        """Return the code that a node of this reference answers with."""
        return self.code

    def reply_in(self, reference: Reference) -> Reply[Any]:
        """Return the answer of a node of this reference."""
        return Reply(code=self.code_in(reference), remark=self.remark)


class InvalidParameter(Refused):
    """A refusal of a parameter: SYSTEM_ERROR in 4.9.7, a code of its own in later releases."""

    def __init__(self, remark: str) -> None:
        super().__init__(ResponseCode.SYSTEM_ERROR, remark)

    def code_in(self, reference: Reference) -> int:
        return reference.invalid_parameter_code


class ForbiddenType(IntEnum):
    """What forbids a pull.

    Source: common/constant/ForbiddenType.java, remoting/protocol/ForbiddenType.java (5.5.0)
    """

    BROKER_FORBIDDEN = 1
    GROUP_FORBIDDEN = 2
    TOPIC_FORBIDDEN = 3
    BROADCASTING_DISABLE_FORBIDDEN = 4
    SUBSCRIPTION_FORBIDDEN = 5


class Forbidden(Refused):
    """A refusal with NO_PERMISSION; later releases say in a pull's answer what forbids it."""

    def __init__(self, forbidden_type: ForbiddenType, remark: str) -> None:
        super().__init__(ResponseCode.NO_PERMISSION, remark)
        self.forbidden_type = forbidden_type


class Thrown(Refused):
    """Raised to answer with the text of an exception that Java's processor throws.

    Java makes this response outside the processor's callback: its header is JSON, also where the
    request's is binary.

    Source: remoting/netty/NettyRemotingAbstract.java#processRequestCommand (4.9.7)
    """

    def __init__(self, remark: str) -> None:
        super().__init__(ResponseCode.SYSTEM_ERROR, remark)


class Request(msgspec.Struct, Generic[RequestHeader]):
    """A request as its handler sees it: its header decoded, and the session it came on."""

    command: RemotingCommand
    header: RequestHeader
    session: Session

    @property
    def body(self) -> bytes:
        return self.command.body


class Reply(msgspec.Struct, Generic[ResponseHeader]):
    """A handler's answer; the fields after ``header`` are keyword arguments.

    If ``body`` is a list of slices, it is read when the batch's answers are written, in the same
    turn of the loop. Do not change those bytes before.
    """

    header: ResponseHeader | None = None
    body: Body = b""
    code: int = ResponseCode.SUCCESS
    remark: str | None = None
    ext_fields: dict[str, str] | None = None
    """Fields that are added to the header's own, and replace those of the same name."""
    usual: SendAnswer | None = None
    """The fields of a successful answer to a send, which has no other fields and no body."""
    serialize_type: SerializeType | None = None
    """How the response's header is written; None means as the request's header was."""
    relayed: RemotingCommand | None = None
    """A client's answer that is passed on: the response gets its flag, language and version."""
    leaving: tuple[Delivered, Cause] | None = None
    """The event to journal if faults let the answer leave, and the cause of that event."""

    def editable(self) -> Reply[Any]:
        """Return a copy that a fault may change, with every field that it may replace."""
        fields = self.ext_fields if self.usual is None else send_answer_fields(self.usual)
        return msgspec.structs.replace(self, relayed=None, usual=None, ext_fields=fields)


def not_supported(code: int) -> Reply[Any]:
    """Return the answer to a request code that a node does not know."""
    remark = f" request type {code} not supported"
    return Reply(code=ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark=remark)


Parked: TypeAlias = Later[Reply[ResponseHeader] | None]
"""An answer that comes later; None means that no answer is ever sent. An exception is answered as
if the handler had raised it."""

Outcome: TypeAlias = "Reply[Any] | Refused | None"
"""The end of a request: an answer, an error to answer with, or no answer."""
