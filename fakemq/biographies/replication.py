"""Finds out which brokers lack a record: its master, which lost it, or slaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.biographies.because import answer_text, missing

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle, Record
    from fakemq.broker.broker import Broker
    from fakemq.core.cluster import ClusterCore
    from fakemq.journal.entries import Entry


def replication(
    core: ClusterCore, chronicle: Chronicle, record: Record, entry: Entry, broker: Broker
) -> tuple[str, list[str]]:
    """Return that its master has lost a record, "" if it has not, and for each slave that it lacks
    it; ``entry`` stored it at ``broker``.

    What a broker has on a disk is known while it runs, so one that does not run has lost nothing.
    """
    code = chronicle.answers.get(entry.cause)
    answer = "" if code is None else f", its producer got {answer_text(code)}"
    if code is not None and chronicle.hits.get(entry.cause):  # the producer may have got nothing
        answer = f", its broker answered {answer_text(code)}"
    if _is_known(broker) and broker.store.log.max_offset <= record[1]:
        return f"lost by {broker.name}{answer}", []
    lacking = []
    for name, slave in core.brokers.items():
        if not slave.role.is_slave or slave.config.broker_name != record[0]:
            continue
        end_offset = slave.store.log.max_offset
        if not _is_known(slave):  # what it had when it stopped
            end_offset = chronicle.replicated[slave.name].end_offset
        if end_offset <= record[1]:
            why = missing(core, slave)
            # A slave that is only late is no finding while its master runs.
            if why or not broker.running:
                lacking.append(f"not replicated to {name}{answer}{why and f': {why}'}")
    return "", lacking


def _is_known(broker: Broker) -> bool:
    """Return whether a broker's log can be looked at: after a stop one on a disk is closed."""
    return broker.running or broker.store.disk is None
