"""Finds out that members of one group take messages from each other, or the same messages.

There are three cases: they subscribe to different things, an earlier test has left one behind, or
two have one client id.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from fakemq.biographies.findings import NAMED_AT_MOST
from fakemq.biographies.twins import Twins
from fakemq.broker.clients.consumers import BROADCASTING
from fakemq.core import inspection
from fakemq.errors import counted, printable
from fakemq.events.core import Delivered

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle
    from fakemq.broker.clients.client_channel import ClientChannelInfo
    from fakemq.clock.slices import Steps
    from fakemq.core.cluster import ClusterCore


def rival_members(
    core: ClusterCore, chronicle: Chronicle, wants: Callable[[str], bool], group: str | None
) -> Steps[list[str]]:
    """Return one line for each such case in a group, or in ``group`` only.

    Only wanted topics count, and of these only those with messages.
    """
    topics = set()
    for entry in list(chronicle.appended.values()):
        yield
        topics.add(getattr(entry.event, "topic", ""))
    topics = set(filter(wants, topics))
    left = yield from _members_left(core, chronicle, topics, group)
    twins = _twins(core, chronicle, topics, group)
    return [*map(printable, [*_differing(core, chronicle, topics, group), *left, *twins])]


def _twins(
    core: ClusterCore, chronicle: Chronicle, topics: set[str], group: str | None
) -> list[str]:
    """Return one line for each client id that two connections had, in groups that read a topic."""
    lines = []
    for one in chronicle.twins.groups() if group is None else [group]:
        if _broadcasts(core, one) or not any(one in chronicle.pulling[topic] for topic in topics):
            continue
        for twins in (chronicle.twins.of(one) | _twins_left(core, chronicle, one)).values():
            effect = "members divide the queues by client id, so both take the same messages"
            if twins.grpc:
                effect = (
                    "the front takes them for one client: what one has received is given back"
                    " when the other leaves"
                )
            lines.append(
                f"two connections have one client id in group {one}: {twins.client_id}, from"
                f" {twins.earlier} and {twins.later}; {effect}: give each process a client id, or"
                " an instance name, of its own"
            )
    return lines


def _twins_left(core: ClusterCore, chronicle: Chronicle, group: str) -> dict[str, Twins]:
    """Return those of which one joined before the last reset of the cluster; both are used."""
    found: dict[str, Twins] = {}
    for broker in core.brokers.values():
        first: dict[str, str] = {}
        for channel in broker.consumers.members(group):
            peer = channel.session.remote_addr
            if not chronicle.twins.used(broker.name, peer):
                continue
            if channel.client_id in first:
                twins = Twins(channel.client_id, first[channel.client_id], peer, grpc=False)
                found.setdefault(channel.client_id, twins)
            elif channel.epoch != core.journal.epoch:
                first[channel.client_id] = peer
    return found


def _differing(
    core: ClusterCore, chronicle: Chronicle, topics: set[str], group: str | None
) -> list[str]:
    """Return one line for each topic to which members did not subscribe alike while they were
    members together."""
    lines = []
    for (one, topic), pairs in list(chronicle.differing.items()):
        if pairs and topic in topics and group in (None, one):
            said: dict[str, str | None] = {}
            for event in pairs.values():
                said[event.other_client_id] = event.other_expression
                said[event.client_id] = event.expression
            divides = "" if _broadcasts(core, one) else " and divides the queues among all"
            lines.append(
                f"members of group {one} differ about {topic}: {_wanted(core, one, said)}; a broker"
                f" keeps one subscription for all{divides}, so messages are missed:"
                " let them subscribe to the same, or give each a group of its own"
            )
    return lines


def _wanted(core: ClusterCore, group: str, said: Mapping[str, str | None]) -> str:
    """Return which members subscribed to what; of many with the same, some are named."""
    present = {member.client_id for member in inspection.members(core, group)}
    names: dict[str | None, list[str]] = defaultdict(list)
    for client_id, expression in said.items():
        names[expression].append(client_id + ("" if client_id in present else " (closed since)"))
    return ", ".join(
        " and ".join((*clients[:NAMED_AT_MOST], *_more(len(clients) - NAMED_AT_MOST)))
        + f" subscribed to {'others' if expression is None else repr(expression)}"
        for expression, clients in names.items()
    )


def _more(number: int) -> list[str]:
    return [f"{number} more"] if number > 0 else []


def _broadcasts(core: ClusterCore, group: str) -> bool:
    found = (broker.consumers.group(group) for broker in core.brokers.values())
    return any(info is not None and info.message_model == BROADCASTING for info in found)


def _members_left(
    core: ClusterCore, chronicle: Chronicle, topics: set[str], group: str | None
) -> Steps[list[str]]:
    """Return one line for each member that joined before the last reset of the cluster, and shares
    the queues of one of these topics with a member that joined since."""
    left: dict[tuple[str, str], list[ClientChannelInfo]] = defaultdict(list)
    """Group and client id → the member at each broker."""
    for one, channel, subscribed in _left(core):
        if group in (None, one) and not topics.isdisjoint(subscribed):
            left[one, channel.client_id].append(channel)
    if not left:
        return []
    received: Counter[tuple[str, str]] = Counter()
    for (_, topic, _, _), deliveries in list(chronicle.delivered.items()):
        yield
        for entry in deliveries if topic in topics else ():
            if isinstance(entry.event, Delivered):
                received[entry.event.group, entry.event.peer] += 1
    lines = []
    for (one, client_id), channels in left.items():
        test = channels[0].test or "a test before the last reset of the cluster"
        number = sum(received[one, channel.session.remote_addr] for channel in channels)
        lines.append(
            f"{client_id} is in group {one} since {test}, which did not close it; it shares the"
            f" queues with later members, and received {counted(number, 'message')}"
        )
    return lines


def _left(core: ClusterCore) -> Iterator[tuple[str, ClientChannelInfo, set[str]]]:
    """Yield the group of each such member at a broker, the member, and the group's topics."""
    for broker in core.brokers.values():
        for group, channels in broker.consumers.snapshot().items():
            info = broker.consumers.group(group)
            new = [one for one in channels if one.epoch == core.journal.epoch]
            if info is None or not new or info.message_model == BROADCASTING:
                continue
            for channel in channels:
                if channel not in new:
                    yield group, channel, set(info.subscriptions)
