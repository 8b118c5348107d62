"""The answer first: one sentence that says whether anything is wrong, and what."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from fakemq.spark.audit.summary import Count, Summary, Verdict

BAD = (Verdict.LOST, Verdict.STUCK, Verdict.DUPLICATED, Verdict.OUT_OF_ORDER)
"""Verdicts that should not occur, the worst first."""


class Conclusion(NamedTuple):
    """``state`` is ``clean``, ``found`` or, if there was nothing to judge, ``unknown``."""

    state: str
    text: str


def answer(summary: Summary) -> Conclusion:
    """Return the answer for a summary; a message counts once for each group."""
    of = totals(summary.counts)
    judged = of.total()
    bad = sum(of[verdict] for verdict in BAD)
    amiss = _amiss_in_stores(summary)
    if not judged:
        state, text = "unknown", "Nothing to judge: no message was found"
    elif bad:
        found = _listed([f"{of[verdict]:,} {verdict.value}" for verdict in BAD if of[verdict]])
        state, text = "found", f"Found: {found}, of {several(judged, 'message')}"
        unexplained = sum(1 for message in summary.messages if not message.cause)
        if not summary.messages_left_out:
            text += f"; {f'{unexplained:,} without' if unexplained else 'all with'} a known cause"
    else:
        state = "clean"
        text = f"Clean: of {several(judged, 'message')} none is lost, stuck, duplicated or out of"
        text += " order"
    if of[Verdict.PENDING]:
        text += f"; {of[Verdict.PENDING]:,} not due yet"
    if amiss:
        state, text = "found", f"{text}; but {amiss}" if not bad else f"{text}; {amiss}"
    if summary.notes:
        text += f"; {several(len(summary.notes), 'note')} on what could not be judged"
    return Conclusion(state, text + ".")


def totals(counts: list[Count]) -> Counter[Verdict]:
    """Return how many messages have each verdict, over all topics and groups."""
    of: Counter[Verdict] = Counter()
    for count in counts:
        of[count.verdict] += count.messages
    return of


def _amiss_in_stores(summary: Summary) -> str:
    damaged = sum(len(store.damaged) for store in summary.stores)
    missing = sum(store.missing for store in summary.stores)
    parts = [f"{several(damaged, 'damaged range')} in stores"] * bool(damaged)
    parts += [f"{several(missing, 'message')} missing at a node of a broker that has them"] * bool(
        missing
    )
    return _listed(parts)


def several(number: int, what: str) -> str:
    """Return a number and a noun, which is given in the singular."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def _listed(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1])] * (len(parts) > 1) + parts[-1:])
