"""Finds out that clients asked for a mistyped topic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fakemq.core import inspection
from fakemq.errors import counted, printable
from fakemq.events.core import RouteRefused
from fakemq.protocol.topics import DLQ_PREFIX, RETRY_PREFIX
from fakemq.slips import almost_like

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle
    from fakemq.core.cluster import ClusterCore
    from fakemq.journal.entries import Entry


def asked_for_mistyped(
    core: ClusterCore, chronicle: Chronicle, wants: Callable[[str], bool]
) -> list[str]:
    """Return one line for each unknown topic that clients asked for, almost like a wanted one."""
    there = [topic for topic in inspection.topics(core) if wants(topic)]
    lines = []
    for topic, refused in chronicle.refused_routes.items():
        if topic.startswith((RETRY_PREFIX, DLQ_PREFIX)) or inspection.has_topic(core, topic):
            continue
        meant = almost_like(topic, there)
        if meant is not None:
            clients = counted(len(peers(refused)), "client")
            lines.append(
                f"{clients} asked for {topic}, which does not exist; did you mean {meant}?"
            )
    return [*map(printable, lines)]


def peers(refused: Sequence[Entry]) -> set[str]:
    """Return the addresses of the clients that asked a name server in vain."""
    return {entry.event.peer for entry in refused if isinstance(entry.event, RouteRefused)}
