"""The sentence that a report and a terminal begin with."""

from __future__ import annotations

import msgspec
import pytest

from fakemq.spark.audit.report.answer import answer
from fakemq.spark.audit.summary import Count, Store, Summary, Verdict
from tests.support.summaries import EMPTY, message


def of(*counts: tuple[Verdict, int], **more: object) -> Summary:
    found = [Count("orders", "billing", verdict, number) for verdict, number in counts]
    return msgspec.structs.replace(EMPTY, counts=found, **more)


CLEAN = (Verdict.DELIVERED, 2000)
NONE_BAD = "none is lost, stuck, duplicated or out of order"
NOTES = "2 notes on what could not be judged"
AMISS = "1 damaged range in stores and 3 messages missing at a node of a broker that has them"
DAMAGED = Store("broker-a", {}, 3, ["00000000000000000000 at 17: torn"])


@pytest.mark.parametrize(
    ("summary", "state", "text"),
    [
        (EMPTY, "unknown", "Nothing to judge: no message was found."),
        (of(CLEAN), "clean", f"Clean: of 2,000 messages {NONE_BAD}."),
        (of((Verdict.DELIVERED, 1)), "clean", f"Clean: of 1 message {NONE_BAD}."),
        (
            of(CLEAN, (Verdict.PENDING, 5)),
            "clean",
            f"Clean: of 2,005 messages {NONE_BAD}; 5 not due yet.",
        ),
        (
            of(CLEAN, (Verdict.LOST, 1), messages=[message(cause="a kill")]),
            "found",
            "Found: 1 lost, of 2,001 messages; all with a known cause.",
        ),
        (
            of(CLEAN, (Verdict.LOST, 1), (Verdict.DUPLICATED, 2), messages=[message()]),
            "found",
            "Found: 1 lost and 2 duplicated, of 2,003 messages; 1 without a known cause.",
        ),
        (
            of(CLEAN, (Verdict.LOST, 9), messages=[message()], messages_left_out=8),
            "found",
            "Found: 9 lost, of 2,009 messages.",
        ),
        (
            of(CLEAN, stores=[DAMAGED], notes=["one", "two"]),
            "found",
            f"Clean: of 2,000 messages {NONE_BAD}; but {AMISS}; {NOTES}.",
        ),
        (
            msgspec.structs.replace(EMPTY, stores=[DAMAGED]),
            "found",
            f"Nothing to judge: no message was found; but {AMISS}.",
        ),
    ],
)
def test_answer_summarises_the_audit(summary: Summary, state: str, text: str) -> None:
    assert answer(summary) == (state, text)
