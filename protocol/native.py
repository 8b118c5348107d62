"""The functions of speedups.c, if they are built; else None, and Python does what they do.

A compiled wheel has them (docs/compiled.md). ``FAKEMQ_PURE=1`` in the environment leaves them out.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final, Literal, get_args
from zlib import crc32

import msgspec

from fakemq.protocol.codes import LanguageCode, RequestCode
from fakemq.protocol.command import RemotingCommand, SerializeType
from fakemq.protocol.limits import FRAME_MAX_BYTES
from fakemq.protocol.usual_headers import ACTED_ON, USUAL, Int, Long, UsualBatchHeader, UsualHeader

PURE: Final = "FAKEMQ_PURE"
"""The environment variable that leaves out what is built."""

_BY_NAME: Final[dict[type[UsualHeader], tuple[str, ...]]] = {UsualBatchHeader: ("in_batch",)}
"""The last fields of a class that takes them by name."""
_CODES: Final = [
    *(RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE, RequestCode.PULL_MESSAGE)
]
"""What C decodes. What 5.5.0 adds to `USUAL`, Python does."""
_BITS: Final = {Int: 32, Long: 64}


def _load() -> ModuleType | None:
    if os.environ.get(PURE):
        return None
    try:
        from fakemq.protocol import speedups
    except ImportError:
        return None
    teach(speedups)
    return speedups


def teach(speedups: ModuleType) -> None:
    """Give the functions what they know; they need it before the first call."""
    forms = tuple(
        (int(code), kind, _BY_NAME.get(kind, ()), tuple(map(_field, msgspec.structs.fields(kind))))
        for code, kind in [(code, USUAL[code]) for code in _CODES]
    )
    languages: dict[str | int, LanguageCode] = {one.name: one for one in LanguageCode}
    languages |= {int(one): one for one in LanguageCode}
    kinds = (SerializeType.JSON, SerializeType.ROCKETMQ)
    speedups.learn(
        RemotingCommand, crc32, languages, kinds, forms, tuple(ACTED_ON), FRAME_MAX_BYTES
    )


def _field(field: msgspec.structs.FieldInfo) -> tuple[str, int, str | None, object]:
    """Return name, bits of an integer, the only usual text, and the value where it is absent."""
    bits = next((bits for kind, bits in _BITS.items() if field.type == kind), 0)
    only = get_args(field.type)[0] if get_args(field.type)[:1] and _is_literal(field.type) else None
    return field.encode_name, bits, only, ... if field.required else field.default


def _is_literal(kind: Any) -> bool:
    return getattr(kind, "__origin__", None) is Literal


def _function(name: str) -> Callable[..., Any] | None:
    return None if _speedups is None else getattr(_speedups, name)


_speedups: Final = _load()
usual_frames: Final = _function("usual_frames")
"""With bytes, a place and a list: append the commands of the usual requests that are whole there;
return the place of the first frame that is none."""
plain_properties: Final = _function("plain_properties")
"""As `fakemq.protocol.plain_properties.StoredForm.of_any`; None for what Python has to look at."""
record: Final[Callable[..., tuple[bytes, bytes, str]] | None] = _function("record")
"""Return a record, its entry in the queue, and its offset id; see `fakemq.store.commitlog`."""
