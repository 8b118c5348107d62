"""What tests say of faults, checked: ConfigError with what was wrong and what would be right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from fakemq.config.options import one_of, whole
from fakemq.errors import ConfigError

__all__ = ["content", "fields", "flag", "near", "one_of", "share", "text", "whole"]


def flag(name: str, value: object) -> bool:
    """True or False, and nothing that only counts as one."""
    if not isinstance(value, bool):
        raise ConfigError(f"{name}={value!r}: expected True or False")
    return value


def text(name: str, value: object) -> str:
    """A text."""
    if not isinstance(value, str):
        raise ConfigError(f"{name}={value!r}: expected text")
    return value


def share(name: str, value: object) -> float:
    """A probability: more than 0, and at most 1."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (isinstance(value, int | float) and is_number and 0 < value <= 1):
        raise ConfigError(f"{name}={value!r}: expected more than 0 and at most 1")
    return value


def content(name: str, value: object) -> bytes:
    """Bytes, or a text as UTF-8."""
    if not isinstance(value, bytes | str):
        raise ConfigError(f"{name}={value!r}: expected bytes or text")
    return value.encode() if isinstance(value, str) else value


def fields(name: str, value: object) -> dict[str, str]:
    """Fields of a header as they are on the wire, from names and texts, numbers or truth values."""
    if not isinstance(value, Mapping):
        raise ConfigError(
            f'{name}={value!r}: expected names and values, as in {{"queueOffset": 7}}'
        )
    found = {}
    for key, of in value.items():
        if not (isinstance(key, str) and key and isinstance(of, str | int | float)):
            raise ConfigError(
                f"{name}: {key!r}: {of!r}: expected a name, and a text, a number, True or False"
            )
        found[key] = str(of).lower() if isinstance(of, bool) else str(of)
    return found


def near(word: str, known: Iterable[str]) -> str:
    """What may be meant by a word that is none of those known, to be put behind an error."""
    found = get_close_matches(word, list(known), n=1)
    return f"; did you mean {found[0]}?" if found else ""
