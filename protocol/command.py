"""The one unit of the remoting protocol: a command, request or response alike."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import TypeAlias

from fakemq.protocol.codes import LanguageCode, code_name

VERSION_4_9_7 = 407
"""The value of V4_9_7 in MQVersion.java; clients keep the one a heartbeat answers with."""

Body: TypeAlias = "bytes | Sequence[memoryview]"
"""What is written behind a header: one piece, or slices that are copied only into the write."""

FLAG_RESPONSE = 1
FLAG_ONEWAY = 2


class SerializeType(IntEnum):
    """How a header is written; the high byte of a frame's second word."""

    JSON = 0
    ROCKETMQ = 1


class RemotingCommand:
    """A request or a response.

    ``ext_fields`` are the custom header's fields as strings; ``body`` is empty where Java has
    null. ``opaque`` ties a response to its request; ``version`` is the sender's MQVersion value.

    Source: remoting/protocol/RemotingCommand.java (4.9.7)
    """

    __slots__ = (
        "body",
        "code",
        "ext_fields",
        "flag",
        "language",
        "opaque",
        "remark",
        "serialize_type",
        "version",
    )

    def __init__(
        self,
        code: int,
        *,
        ext_fields: dict[str, str] | None = None,
        body: bytes = b"",
        flag: int = 0,
        opaque: int = 0,
        remark: str | None = None,
        language: LanguageCode = LanguageCode.JAVA,
        version: int = VERSION_4_9_7,
        serialize_type: SerializeType = SerializeType.JSON,
    ) -> None:
        self.code = code
        self.ext_fields: dict[str, str] = {} if ext_fields is None else ext_fields
        self.body = body
        self.flag = flag
        self.opaque = opaque
        self.remark = remark
        self.language = language
        self.version = version
        self.serialize_type = serialize_type

    @property
    def is_response(self) -> bool:
        return self.flag & FLAG_RESPONSE != 0

    @property
    def is_oneway(self) -> bool:
        return self.flag & FLAG_ONEWAY != 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RemotingCommand):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]  # mutable, as its fields are

    def __repr__(self) -> str:
        kind = "response" if self.is_response else "oneway" if self.is_oneway else "request"
        what = str(self.code) if self.is_response else code_name(self.code)
        remark = f" remark={self.remark!r}" if self.remark else ""
        return (
            f"<{kind} {what} opaque={self.opaque} {self.ext_fields}{remark}"
            f" body={len(self.body)} bytes>"
        )
