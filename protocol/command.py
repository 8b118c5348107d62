"""The one unit of the remoting protocol: a command, request or response alike."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Final, TypeAlias

import msgspec

from fakemq.protocol.codes import LanguageCode, code_name

VERSION_4_9_7: Final = 407
"""The value of V4_9_7 in MQVersion.java; clients keep the one a heartbeat answers with."""

Body: TypeAlias = "bytes | Sequence[memoryview]"
"""What is written behind a header: one piece, or slices that are copied only into the write."""

FLAG_RESPONSE: Final = 1
FLAG_ONEWAY: Final = 2


class SerializeType(IntEnum):
    """How a header is written; the high byte of a frame's second word."""

    JSON = 0
    ROCKETMQ = 1


class RemotingCommand(msgspec.Struct, gc=False):
    """A request or a response; fields behind ``code`` are given by name.

    ``ext_fields`` are the custom header's fields as strings; ``body`` is empty where Java has
    null. ``opaque`` ties a response to its request; ``version`` is the sender's MQVersion value.

    Source: remoting/protocol/RemotingCommand.java (4.9.7)
    """

    code: int
    ext_fields: dict[str, str] = {}
    body: bytes = b""
    flag: int = 0
    opaque: int = 0
    remark: str | None = None
    language: LanguageCode = LanguageCode.JAVA
    version: int = VERSION_4_9_7
    serialize_type: SerializeType = SerializeType.JSON
    usual: msgspec.Struct | None = None
    """The ext fields of a request that was decoded in its usual form; ``ext_fields`` is empty then.
    It is a `fakemq.protocol.usual_headers.UsualHeader`."""
    decoded: msgspec.Struct | None = None
    """The body of a request as access control has decoded it, for the handler."""

    @property
    def is_response(self) -> bool:
        return self.flag & FLAG_RESPONSE != 0

    @property
    def is_oneway(self) -> bool:
        return self.flag & FLAG_ONEWAY != 0

    def as_oneway(self) -> RemotingCommand:
        """Return a copy that expects no answer."""
        return msgspec.structs.replace(self, flag=self.flag | FLAG_ONEWAY)

    def __repr__(self) -> str:
        kind = "response" if self.is_response else "oneway" if self.is_oneway else "request"
        what = str(self.code) if self.is_response else code_name(self.code)
        remark = f" remark={self.remark!r}" if self.remark else ""
        return (
            f"<{kind} {what} opaque={self.opaque} {self.ext_fields}{remark}"
            f" body={len(self.body)} bytes>"
        )
