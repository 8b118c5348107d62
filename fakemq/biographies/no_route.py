"""Finds out that clients got no route: for a mistyped topic, too early, or of no broker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fakemq.biographies.because import duration_text
from fakemq.config.almost_like import almost_like
from fakemq.core import inspection
from fakemq.errors import counted, printable
from fakemq.events.core import RouteRefused
from fakemq.protocol.codes import RequestCode
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


# Finds out that clients asked for a topic before it existed, and have not come back since.
#
# A client asks a name server for its topics when it starts, and again only every 30 s of its time.


def asked_too_early(
    core: ClusterCore, chronicle: Chronicle, wants: Callable[[str], bool], *, consumers: bool
) -> Steps[list[str]]:
    """Return one line for each wanted topic that clients asked for in vain.

    There are two cases:
    1. The topic does not exist; this is a finding only where messages are missing, not consumers.
    2. With ``consumers``: it exists now and has messages, clients that consume asked for it before
       it was created, and no consumer has asked a broker for them.
    """
    lines = []
    for topic, refused in list(chronicle.refused_routes.items()):
        yield
        if not wants(topic):
            continue
        declare = f"declare it when the cluster starts: topics={{{topic!r}: 8}}"
        created = chronicle.created.get(topic)
        if not inspection.has_topic(core, topic):
            if not consumers:
                lines.append(f"{_asked(topic, refused)}, and it does not exist: {declare}")
        elif created is not None and consumers and _waits(chronicle, topic):
            early = _of_consumers(chronicle, refused, created)
            if early:
                ago = duration_text(created.at_ms - early[-1].at_ms)
                lines.append(
                    f"{_asked(topic, early)} before it was created, the last time {ago} before, and"
                    " no consumer has pulled it since: clients ask again after 30 s of their own"
                    f" time; {declare}"
                )
    return [*map(printable, lines)]


def _asked(topic: str, refused: Sequence[Entry]) -> str:
    clients = counted(len(peers(refused)), "client")
    return f"{clients} asked for {topic} {counted(len(refused), 'time')}"


def _of_consumers(chronicle: Chronicle, refused: list[Entry], created: Entry) -> list[Entry]:
    """Return the refusals before a topic was created, of clients that consume.

    A name server does not know what its clients do. There are two signs:
    1. A consumer asks for the retry topic of its group, too, on the same connection.
    2. It asks twice when it starts. A producer asks once, then sends to the topic that brokers
       create others from; where a send created the topic, the last one that asked was its sender.
    """
    early = [entry for entry in refused if entry.seq < created.seq]
    if not early:
        return []
    retrying = {
        _peer(entry)
        for topic, entries in chronicle.refused_routes.items()
        if topic.startswith(RETRY_PREFIX)
        for entry in entries
    }
    times = Counter(map(_peer, early))
    request = chronicle.requests.get(created.cause)
    by_admin = getattr(request and request.event, "code", 0) == RequestCode.UPDATE_AND_CREATE_TOPIC
    sender = None if request is None or by_admin else _peer(early[-1])
    return [
        entry
        for entry in early
        if (peer := _peer(entry)) in retrying or (times[peer] > 1 and peer != sender)
    ]


def _peer(refused: Entry) -> str:
    assert isinstance(refused.event, RouteRefused)
    return refused.event.peer


def _waits(chronicle: Chronicle, topic: str) -> bool:
    """Return whether a topic has messages, and no group has pulled it."""
    if chronicle.pulling.get(topic):
        return False
    return any(getattr(entry.event, "topic", "") == topic for entry in chronicle.appended.values())
