"""Names of topics and groups that do not exist, and are almost like names that do.

A question about such a name is most likely a typing error, and its answer (no message, no lag)
would let a test pass that tests nothing. Other unknown names may come to exist later.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fakemq.core import inspection
from fakemq.errors import did_you_mean
from fakemq.protocol.topics import DLQ_PREFIX, RETRY_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fakemq.core.cluster import ClusterCore

_SEPARATORS = re.compile(r"[-_.%|]+")
_SHORTEST_LETTERS = 4
"""Shorter words are too often one letter apart on purpose: ``in`` and ``on``, ``eu`` and ``us``."""
_LONG_LETTERS = 8
"""From this length on two slips are one word still."""
_LONGEST_LETTERS = 255


def check_topic(core: ClusterCore, topic: str, *, may_come: bool = True) -> None:
    """Raise LookupError for a topic that does not exist.

    With ``may_come`` raise it only if the name is almost like an existing one.
    """
    if inspection.has_topic(core, topic):
        return
    for prefix in (DLQ_PREFIX, RETRY_PREFIX):
        if topic.startswith(prefix):
            check_group(core, topic.removeprefix(prefix))
    there = inspection.topics(core)
    meant = almost_like(topic, there)
    if meant is not None:
        declare = f" If it comes later, declare it: topics={{{topic!r}: 8}}" if may_come else ""
        raise LookupError(f"no topic {topic!r}; did you mean {meant}?{declare}")
    if not may_come:
        hint = did_you_mean(topic, there, cutoff=0.8, lists=False)
        hint = hint or f"; there are: {', '.join(there)}"
        raise LookupError(f"no topic {topic!r}{hint}")


def check_group(core: ClusterCore, group: str) -> None:
    """Raise LookupError for a group that no broker has and whose name is almost like another's."""
    there: set[str] = set()
    for broker in core.brokers.values():
        there.update(broker.groups.snapshot(), broker.consumers.snapshot())
        there.update(key.partition("@")[2] for key in broker.offsets.snapshot())
    if group in there:
        return
    meant = almost_like(group, sorted(there))
    if meant is not None:
        raise LookupError(f"no group {group!r}; did you mean {meant}?")


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
