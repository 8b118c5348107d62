"""What every endpoint may take or return: durations, texts, errors."""

from __future__ import annotations

from typing import NewType, TypeAlias

import msgspec

Text = NewType("Text", str)
"""A result that is sent as it is, as plain text."""

Duration: TypeAlias = str | int | float
"""``"2h"``, ``"1m30s"``, ``"500ms"``, or a number of seconds."""


class Done(msgspec.Struct, frozen=True):
    """Nothing more to say than 200."""


class Error(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a request was refused: what was wrong, and what would be right."""

    error: str
    journal: list[str] = []
    """The journal's last lines, where something was waited for that did not come."""


class Refusal(Exception):  # noqa: N818 - an answer, not a mishap
    """A request that is answered with an error's status and text."""

    def __init__(self, status: int, text: str, journal: list[str] | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.error = Error(error=text, journal=journal or [])
