"""Biographies of findings, from a run's journal: the report links each finding to its own."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import islice

from fakemq.errors import FakemqError
from fakemq.spark.audit.summary import MessageBiography, MessageSummary

MOST = 200
"""How many messages get one, the worst first."""
LINES_MOST = 200
"""How many steps of a message are shown."""
JOURNAL_MAX_BYTES = 64 << 20
"""This program reads the journal itself, and holds it; Spark reads one of any size."""


def biographies(
    journal: str | None, findings: Iterable[MessageSummary]
) -> tuple[list[MessageBiography], str]:
    """Return the biographies of the first findings, and why there are none; "" if there are."""
    msg_ids = list(islice(dict.fromkeys(one.msg_id for one in findings), MOST))
    if journal is None or not msg_ids:
        return [], ""
    if not os.path.isfile(journal):
        return [], "No biographies: the journal is no file of this machine"
    if os.path.getsize(journal) > JOURNAL_MAX_BYTES:
        return [], f"No biographies: the journal has over {JOURNAL_MAX_BYTES >> 20} MiB"
    from fakemq.biographies.recorded import recorded_biographies
    from fakemq.journal import file

    try:
        found = recorded_biographies(file.read(journal), msg_ids)
    except FakemqError as error:
        return [], f"No biographies: {error}"
    return [
        MessageBiography(msg_id, biography.name, _lines([str(step) for step in biography]))
        for msg_id in msg_ids
        for biography in found.get(msg_id, ())
    ], ""


def _lines(steps: list[str]) -> list[str]:
    more = len(steps) - LINES_MOST
    return steps if more <= 0 else [*steps[:LINES_MOST], f"and {more:,} more"]
