"""The fields of a JSON header, for msgspec's decoder and encoder."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

_Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]


class IncomingHeader(msgspec.Struct, rename="camel", gc=False):
    """What is read of a header; other fields are ignored."""

    code: _Int32 = 0
    language: str | None = "JAVA"
    version: _Int32 = 0
    opaque: _Int32 = 0
    flag: _Int32 = 0
    remark: str | None = None
    ext_fields: dict[str, str] | None = None


class OutgoingHeader(
    msgspec.Struct, rename={"serialize_type": "serializeTypeCurrentRPC"}, gc=False
):
    """What is written, in fastjson's order: sorted by name."""

    code: int
    extFields: dict[str, str]  # noqa: N815
    flag: int
    language: str
    opaque: int
    remark: str | msgspec.UnsetType
    serialize_type: str
    version: int
