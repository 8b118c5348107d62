"""What a name server answers: one module a request code; a module is found by being here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.protocol.errors import NullFieldError

if TYPE_CHECKING:
    from fakemq.protocol.header import Header


def or_null(header: Header, field: str) -> str:
    """A text field that Java's processor looks up and prints whether or not it arrived.

    One that did not arrive is "null", as in Java's remarks; no table has an entry of that name.
    """
    try:
        return str(getattr(header, field))
    except NullFieldError:
        return "null"
