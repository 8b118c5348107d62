"""The types that endpoints share: durations, plain text, errors."""

from __future__ import annotations

from typing import NewType, TypeAlias

import msgspec

Text = NewType("Text", str)
"""A result that is sent as plain text, not as JSON."""

Duration: TypeAlias = str | int | float
"""``"2h"``, ``"1m30s"``, ``"500ms"``, or a number of seconds."""


class Done(msgspec.Struct, frozen=True):
    """The result of an endpoint that returns nothing but the status 200."""


class Error(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a request was refused, and what would be right."""

    error: str
    journal: list[str] = []
    """The journal's last lines, if the request waited in vain."""


class Refusal(Exception):  # noqa: N818 - an answer to a request, not a failure
    """Raised to answer a request with an error status and text."""

    def __init__(self, status: int, text: str, journal: list[str] | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.error = Error(error=text, journal=journal or [])
