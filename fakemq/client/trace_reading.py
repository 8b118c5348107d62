"""Reads traces, as Java's clients and ours write them into the trace topic.

Source: client/trace/TraceDataEncoder.java#decoderFromTraceDataString (4.9.7)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fakemq.client.producing.trace_records import CONTENT_SPLITTER, FIELD_SPLITTER


class Traced(NamedTuple):
    """One step of a message, as its client reported it; "" and 0 for what it does not say."""

    step: str
    """``Pub``, ``SubBefore``, ``SubAfter`` or ``EndTransaction``."""
    message_id: str
    at_ms: int = 0
    group: str = ""
    cost_ms: int = 0
    success: bool | None = None
    request_id: str = ""
    """Joins the begin and the end of one call of a listener."""
    retries: int = 0
    detail: str = ""


def read_traces(text: str) -> Iterator[Traced]:
    """Return the steps in the body of a trace message; a record that cannot be read is left out."""
    for record in text.split(FIELD_SPLITTER):
        fields = record.split(CONTENT_SPLITTER)
        reader = _READERS.get(fields[0])
        if reader is None:
            continue
        try:
            yield reader(fields)
        except (IndexError, ValueError):
            continue


def _published(fields: list[str]) -> Traced:
    _, at_ms, _, group, _, message_id, _, _, host, _, cost_ms, *_ = fields
    return Traced(
        "Pub",
        message_id,
        int(at_ms),
        group,
        int(cost_ms),
        fields[-1] == "true",
        detail=f"to {host}",
    )


def _begun(fields: list[str]) -> Traced:
    _, at_ms, _, group, request_id, message_id, retries, *_ = fields
    return Traced(
        "SubBefore", message_id, int(at_ms), group, request_id=request_id, retries=int(retries)
    )


def _ended(fields: list[str]) -> Traced:
    _, request_id, message_id, cost_ms, success, *_ = fields
    at_ms, group = (int(fields[7]), fields[8]) if len(fields) > 8 else (0, "")
    return Traced(
        "SubAfter", message_id, at_ms, group, int(cost_ms), success == "true", request_id=request_id
    )


def _ended_transaction(fields: list[str]) -> Traced:
    _, at_ms, _, group, _, message_id, _, _, _, _, _, state, from_check, *_ = fields
    detail = f"{state}{', after a check' if from_check == 'true' else ''}"
    return Traced("EndTransaction", message_id, int(at_ms), group, detail=detail)


_READERS = {
    "Pub": _published,
    "SubBefore": _begun,
    "SubAfter": _ended,
    "EndTransaction": _ended_transaction,
}
