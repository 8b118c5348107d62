"""Finds out that clients got no route: for a mistyped topic, or while all brokers were down."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fakemq.config.slips import almost_like
from fakemq.core import inspection
from fakemq.errors import counted, printable
from fakemq.events.core import RouteRefused
from fakemq.protocol.topics import AUTO_CREATE_TOPIC_KEY_TOPIC, DLQ_PREFIX, RETRY_PREFIX

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle
    from fakemq.clock.slices import Steps
    from fakemq.core.cluster import ClusterCore
    from fakemq.journal.entries import Entry

_NAMES_A_STEP = 100


def asked_for_mistyped(
    core: ClusterCore, chronicle: Chronicle, wants: Callable[[str], bool]
) -> Steps[list[str]]:
    """Return one line for each unknown topic that clients asked for, almost like a wanted one."""
    there: list[str] | None = None
    lines = []
    for topic, refused in list(chronicle.refused_routes.items()):
        yield
        if _is_clients_own(topic) or inspection.has_topic(core, topic):
            continue
        if there is None:
            there = [one for one in inspection.topics(core) if wants(one)]
        meant = None
        for begin in range(0, len(there), _NAMES_A_STEP):
            meant = meant or almost_like(topic, there[begin : begin + _NAMES_A_STEP])
            yield
        if meant is not None:
            clients = counted(len(peers(refused)), "client")
            lines.append(
                f"{clients} asked for {topic}, which does not exist; did you mean {meant}?"
            )
    return [*map(printable, lines)]


def asked_while_down(
    core: ClusterCore, chronicle: Chronicle, wants: Callable[[str], bool]
) -> Steps[list[str]]:
    """Return one line for each wanted topic that clients got no route for, since it exists, and all
    of whose brokers are down now."""
    lines = []
    for topic, refused in list(chronicle.refused_routes.items()):
        yield
        masters = [one for one in inspection.having(core, topic) if not one.role.is_slave]
        running = any(one.running for one in masters)
        if not masters or running or not wants(topic) or _is_clients_own(topic):
            continue
        created = chronicle.created.get(topic)
        since = [entry for entry in refused if created is None or entry.seq > created.seq]
        if since:
            asked = f"{counted(len(peers(since)), 'client')} got no route for {topic}"
            states = ", ".join(f"{one.name} is {one.state}" for one in masters)
            lines.append(f"{asked}: {states}")
    return [*map(printable, lines)]


def _is_clients_own(topic: str) -> bool:
    """Return whether clients ask for a topic by themselves, beside those of their programs."""
    return topic == AUTO_CREATE_TOPIC_KEY_TOPIC or topic.startswith((RETRY_PREFIX, DLQ_PREFIX))


def peers(refused: Sequence[Entry]) -> set[str]:
    """Return the addresses of the clients that asked a name server in vain."""
    return {entry.event.peer for entry in refused if isinstance(entry.event, RouteRefused)}
