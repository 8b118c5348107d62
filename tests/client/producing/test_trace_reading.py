"""Traces are read as they were written, and what is no trace is passed over."""

from __future__ import annotations

from fakemq.client.messages import LocalTransactionState
from fakemq.client.producing.trace_records import (
    ConsumedMessage,
    ConsumeReturnType,
    Consuming,
    EndedTransaction,
    Published,
    Traced,
    TracedType,
    read_traces,
)


def test_steps_are_those_that_clients_wrote() -> None:
    sent = Published(
        *(1_000, "region", "shop", "orders", "ID", None, "k", "127.0.0.1:10911", 4, 7),
        *(TracedType.NORMAL, "OFFSET", True),
    )
    consuming = Consuming(
        2_000,
        None,
        "billing",
        "call",
        (ConsumedMessage("ID", "k", 2), ConsumedMessage("B", None, 0)),
        2,
    )
    ended = consuming.ended(2_010, success=False, return_type=ConsumeReturnType.EXCEPTION)
    half = EndedTransaction(
        *(3_000, "region", "shop", "orders", "ID", None, None, "127.0.0.1:10911", "T"),
        *(LocalTransactionState.COMMIT_MESSAGE, True),
    )
    text = sent.record().text + consuming.record().text + ended.text + half.record().text
    assert [one for one in read_traces(text) if one.message_id == "ID"] == [
        Traced("Pub", "ID", 1_000, "shop", 7, True, detail="to 127.0.0.1:10911"),
        Traced("SubBefore", "ID", 2_000, "billing", request_id="call", retries=2),
        Traced("SubAfter", "ID", 2_010, "billing", 5, False, request_id="call"),
        Traced("EndTransaction", "ID", 3_000, "shop", detail="COMMIT_MESSAGE, after a check"),
    ]


def test_text_that_is_no_trace_is_passed_over() -> None:
    for text in (
        "",
        "Pub",
        "Pub\x011\x02",
        "Other\x01x\x02",
        "SubBefore\x01x\x01r\x01g\x01c\x01i\x01n\x02",
    ):
        assert list(read_traces(text)) == []
