"""The types that endpoints share: durations, plain text, errors."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Annotated, NamedTuple, NewType, TypeAlias

import msgspec

from fakemq.protocol.bodies.body import Long

Text = NewType("Text", str)
"""A result that is sent as plain text, not as JSON."""


class Asset(NamedTuple):
    """A result that is a file of a page."""

    content: bytes
    media_type: str


class Stream(NamedTuple):
    """A result that is sent part by part, as server-sent events, until its reader is gone."""

    parts: AsyncIterator[bytes]
    ended: Callable[[], None]
    """Called once at the end, also if no part was asked for."""


_Double: TypeAlias = Annotated[float, msgspec.Meta(ge=-sys.float_info.max, le=sys.float_info.max)]
Scalar: TypeAlias = bool | Long | _Double | str | None
Argument: TypeAlias = Scalar | list[Scalar] | dict[str, Scalar]
"""An argument of a fault. It is not nested, so no JSON is too deep for it."""

_LONGEST_S = 2**63 / 1_000
_Seconds: TypeAlias = Annotated[
    float, msgspec.Meta(extra_json_schema={"minimum": -_LONGEST_S, "maximum": _LONGEST_S})
]
"""`duration_ms` refuses all others, with a better text."""

Duration: TypeAlias = str | Long | _Seconds
"""``"2h"``, ``"1m30s"``, ``"500ms"``, or a number of seconds."""


class Done(msgspec.Struct, frozen=True):
    """The result of an endpoint that returns nothing but the status 200."""


class Error(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a request was refused, and what would be right."""

    error: str
    diagnosis: list[str] = []
    """The likely causes, if the request waited in vain; as of ``GET /v1/diagnosis``."""
    journal: list[str] = []
    """The journal's last lines, if the request waited in vain."""


_ERROR_MAX_CHARACTERS = 4_000
"""Longer errors are cut: a request of 16 MiB may name itself in the error."""


class Refusal(Exception):  # noqa: N818 - an answer to a request, not a failure
    """Raised to answer a request with an error status and text."""

    def __init__(
        self, status: int, text: str, *, diagnosis: Sequence[str] = (), journal: Sequence[str] = ()
    ) -> None:
        super().__init__(text)
        if len(text) > _ERROR_MAX_CHARACTERS:
            text = text[:_ERROR_MAX_CHARACTERS] + "\u2026"
        self.status = status
        self.error = Error(error=text, diagnosis=list(diagnosis), journal=list(journal))
