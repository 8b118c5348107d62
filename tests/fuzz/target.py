"""What a fuzz target is: bytes in, and an exception only for a real violation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


class Violation(AssertionError):  # noqa: N818  # the parser's, not ours
    """A parser did what it may not do; the text says what."""


@dataclass(frozen=True)
class Target:
    """One parser under fuzzing.

    ``run`` takes any bytes and raises only at a violation: an exception that the parser does not
    document, a value that does not come back from its own encoding, two readings that differ.
    ``traces`` are the modules whose lines count as coverage, ``seeds`` what to begin with,
    ``words`` bytes worth inserting. ``unpack`` cuts an input into parts that are mutated one by
    one, and ``pack`` joins them again with lengths that are right. ``runs`` is how often every
    test run tries it.
    """

    name: str
    run: Callable[[bytes], None]
    traces: tuple[str, ...]
    seeds: Callable[[], Iterable[bytes]]
    words: tuple[bytes, ...] = ()
    unpack: Callable[[bytes], list[bytes]] | None = None
    pack: Callable[[list[bytes]], bytes] | None = None
    max_bytes: int = 2048
    runs: int = 1000


def same(what: str, one: object, other: object) -> None:
    """Raise Violation unless the two are equal."""
    if one != other:
        raise Violation(f"{what}: {one!r:.300} is not {other!r:.300}")


def outcome(read: Callable[[], T], *documented: type[Exception]) -> T | None:
    """Return what ``read`` returns; None if it raises what it may raise."""
    with suppress(*documented):
        return read()
    return None


def chosen(data: bytes, choices: dict[str, T]) -> tuple[str, T, bytes]:
    """The choice that the first line names, and what is behind it; any line names one."""
    line, _, rest = data.partition(b"\n")
    name = line.decode("latin-1")
    if name not in choices:
        name = list(choices)[sum(line) % len(choices)]
    return name, choices[name], rest


def text_of(data: bytes) -> str:
    """Any text at all, lone surrogates included; what is no UTF-8 becomes Latin-1."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def sound(text: str) -> str:
    """``text`` as it comes out of UTF-8: half a surrogate pair is a question mark."""
    return text.encode("utf-8", "replace").decode()
