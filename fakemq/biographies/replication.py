"""Finds out which brokers lack a record: its master, which lost it, or slaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.biographies.because import answer_text, missing
from fakemq.biographies.findings import name_of_appended
from fakemq.events.core import LogAppended

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.biographies.chronicle import Chronicle, Record
    from fakemq.biographies.findings import Findings
    from fakemq.broker.broker import Broker
    from fakemq.clock.slices import Steps
    from fakemq.core.cluster import ClusterCore
    from fakemq.journal.entries import Entry


def replication(
    core: ClusterCore, chronicle: Chronicle, record: Record, entry: Entry, broker: Broker
) -> tuple[str, list[str]]:
    """Return that its master has lost a record, "" if it has not, and for each slave that it lacks
    it; ``entry`` stored it at ``broker``.

    What a broker has on a disk is known while it runs, so one that does not run has lost nothing.
    """
    answer = _answer(chronicle, entry)
    if gone := _gone(core, chronicle, record, entry):
        return f"{gone}{answer}", []
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


def server_of(core: ClusterCore, record: Record, broker: Broker) -> Broker:
    """Return the broker from which consumers get a record that ``broker`` has stored.

    After a fail-over this is the new master, if it has the record.
    """
    if broker.running and not broker.role.is_slave:
        return broker
    master = core.master(record[0])
    has_it = master is not None and master.running and master.store.log.max_offset > record[1]
    return master if master is not None and has_it else broker


def add_overwritten(
    chronicle: Chronicle, wants: Callable[[str], bool], copies: Findings
) -> Steps[None]:
    """Add the records that are gone, and in whose places a later master has stored others."""
    for entry in list(chronicle.roles.overwritten):
        yield
        event = entry.event
        assert isinstance(event, LogAppended)
        if wants(event.topic):
            beside = chronicle.roles.beside(event.node, entry.seq)
            lost = f"lost by {event.node}{beside and f' {beside}'}"
            why = f"{lost}: another record has its place{_answer(chronicle, entry)}"
            copies.add(event.topic, why, name_of_appended(event, None))


def _answer(chronicle: Chronicle, entry: Entry) -> str:
    code = chronicle.answers.get(entry.cause)
    if code is None:
        return ""
    if chronicle.hits.get(entry.cause):  # the producer may have got nothing
        return f", its broker answered {answer_text(code)}"
    return f", its producer got {answer_text(code)}"


def _gone(core: ClusterCore, chronicle: Chronicle, record: Record, entry: Entry) -> str:
    """Return how a record is gone because its group has another master; "" if it is not."""
    node, roles = entry.event.node, chronicle.roles
    if not roles.has_controllers:
        return ""
    beside = roles.beside(node, entry.seq)
    stored = f"stored at {node} {beside}, and " if beside else ""
    for cut in roles.cuts(*record, entry.seq):
        if cut.event.node == node:
            return f"{stored}cut off at {node} {roles.became(cut)}"
    master = core.master(record[0])
    if master is None or master.name == node or not master.running:
        return ""
    if master.store.log.max_offset > record[1]:
        return ""
    return f"{stored}not at {master.name}, the master of epoch {master.role.epoch}"


def _is_known(broker: Broker) -> bool:
    """Return whether a broker's log can be looked at: after a stop one on a disk is closed."""
    return broker.running or broker.store.disk is None
