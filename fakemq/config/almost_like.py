"""Which names are a slip of the keyboard away from others."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SEPARATORS = re.compile(r"[-_.%|]+")
_SHORTEST_LETTERS = 4
"""Shorter words are too often one letter apart on purpose: ``in`` and ``on``, ``eu`` and ``us``."""
_LONG_LETTERS = 8
"""From this length on two slips are one word still."""
_LONGEST_LETTERS = 255


def almost_like(name: str, there: Iterable[str]) -> str | None:
    """Return the first of ``there`` that ``name`` is a slip of the keyboard away from; or None.

    Names that differ by a number or by a last letter (``stock-1`` and ``stock-2``, ``topicA`` and
    ``topicB``), or by whole words (``orders`` and ``orders-retry``), are not almost alike.
    """
    return next((other for other in there if _almost_alike(name, other)), None)


def _almost_alike(name: str, other: str) -> bool:
    words, others = (_SEPARATORS.split(one[:_LONGEST_LETTERS]) for one in (name, other))
    if "".join(words).casefold() == "".join(others).casefold():
        return True  # the case of letters, or only a separator
    if len(words) != len(others):
        return False
    different = [pair for pair in zip(words, others, strict=True) if pair[0] != pair[1]]
    return len(different) == 1 and _is_slip(*different[0])


def _is_slip(word: str, other: str) -> bool:
    if any(char.isdigit() for char in word + other):
        return False
    shorter, longer = sorted((word.casefold(), other.casefold()), key=len)
    if len(shorter) < _SHORTEST_LETTERS:
        return False
    if longer[:-1] in (shorter, shorter[:-1]):  # they differ by their last letter
        return longer[:-1] == shorter and longer[-1] in ("s", shorter[-1])
    return _distance(shorter, longer) <= (1 if len(shorter) < _LONG_LETTERS else 2)


def _distance(one: str, other: str) -> int:
    """Return how many letters are missing, wrong, too many, or swapped with the next one."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        earlier, before, row = before, row, [i]
        for j, wanted in enumerate(other, 1):
            least = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            swapped = i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted
            row.append(min(least, earlier[j - 2] + 1) if swapped else least)
    return row[-1]
