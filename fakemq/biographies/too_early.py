"""Finds out that clients asked for a topic before it existed, and have not come back since.

A client asks a name server for its topics when it starts, and again only every 30 s of its time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakemq.biographies.because import duration_text
from fakemq.core import inspection
from fakemq.errors import counted, printable

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle
    from fakemq.core.cluster import ClusterCore


def asked_too_early(
    core: ClusterCore, chronicle: Chronicle, wants: Callable[[str], bool], *, consumers: bool
) -> list[str]:
    """Return one line for each wanted topic that clients asked for in vain.

    There are two cases:
    1. The topic does not exist; this is a finding only where messages are missing, not consumers.
    2. With ``consumers``: it exists now and has messages, and no consumer has asked a broker for
       them.
    """
    lines = []
    for topic, refused in chronicle.refused_routes.items():
        if not wants(topic):
            continue
        times = counted(len(refused), "time")
        peers = {entry.event.peer for entry in refused if hasattr(entry.event, "peer")}
        asked = f"{counted(len(peers), 'client')} asked for {topic} {times}"
        declare = f"declare it when the cluster starts: topics={{{topic!r}: 8}}"
        created = chronicle.created.get(topic)
        if not inspection.has_topic(core, topic):
            if not consumers:
                lines.append(f"{asked}, and it does not exist: {declare}")
        elif created is not None and consumers and _waits(chronicle, topic):
            ago = duration_text(max(0, created.at_ms - refused[-1].at_ms))
            lines.append(
                f"{asked} before it was created, the last time {ago} before, and no consumer has"
                f" pulled it since: clients ask again after 30 s of their own time; {declare}"
            )
    return [*map(printable, lines)]


def _waits(chronicle: Chronicle, topic: str) -> bool:
    """Return whether a topic has messages, and no group has pulled it."""
    if chronicle.pulling.get(topic):
        return False
    return any(getattr(entry.event, "topic", "") == topic for entry in chronicle.appended.values())
