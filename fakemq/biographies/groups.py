"""Finds out why a group has not received a message that is in its queue."""

from __future__ import annotations

import re
from bisect import bisect
from typing import TYPE_CHECKING, NamedTuple

from fakemq.biographies.findings import Findings, name_of
from fakemq.biographies.incidents import kept_offset
from fakemq.clock.slices import finished
from fakemq.config.almost_like import almost_like
from fakemq.core import inspection
from fakemq.dispatch.node import NodeState
from fakemq.errors import did_you_mean
from fakemq.events.core import LogAppended
from fakemq.journal.journal import clock_text, shortened
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.properties import LITE_TOPIC
from fakemq.protocol.subscription import is_tag_type
from fakemq.protocol.sysflag import PermName
from fakemq.protocol.topics import RETRY_PREFIX, TOOLS_GROUP

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle
    from fakemq.broker.broker import Broker
    from fakemq.clock.slices import Steps
    from fakemq.core.cluster import ClusterCore
    from fakemq.protocol.bodies.topic import TopicConfig
    from fakemq.protocol.message import MessageExt


OTHERS_AT_MOST = 3
"""How many topics of another subscription a reason names."""
_NEIGHBOURS = 200
"""How many names before a mistyped one, and behind it, are compared with it."""


class Reason(NamedTuple):
    """Why a message was not delivered."""

    text: str
    certain: bool = True
    """False if the text states only that no delivery happened, as "group g has no member"."""


class Undelivered:
    """Says why messages were not delivered, in one diagnosis; to a group, or to all for None."""

    def __init__(self, core: ClusterCore, chronicle: Chronicle, group: str | None) -> None:
        self._core = core
        self._chronicle = chronicle
        self._group = group
        self._mistyped: dict[str, str] = {}
        """Topic → what `_mistyped` found: there may be many messages, topics and groups."""
        self._mistyped_groups: dict[tuple[str, str], str] = {}
        """Topic and group → what `_mistyped_group` found."""

    def down(self, broker: Broker) -> str | None:
        """Return that a broker does not run, so no group gets its messages; None if it does."""
        if broker.state is NodeState.RUNNING:
            return None
        slaves = _refusing_slaves(self._core, broker)
        return f"its broker {broker.name} is {broker.state}{slaves}"

    def reasons(self, broker: Broker, stored: MessageExt) -> list[Reason]:
        """Return one reason for each group that consumes the topic of a message.

        A reason that concerns all groups, such as a stopped broker, is returned alone.
        """
        core, topic = self._core, stored.topic
        down = self.down(broker)
        if down is not None:
            return [Reason(down)]
        config = broker.topics.select(topic)
        if config is None:
            return [Reason(f"topic {topic} is not there any more")]
        if not config.perm & PermName.READ:
            return [Reason(f"topic {topic} cannot be read")]
        if stored.queue_id >= config.read_queue_nums:
            queues = config.read_queue_nums
            return [Reason(f"queue {stored.queue_id} is not one of the {queues} to read")]
        lite = stored.properties.get(LITE_TOPIC)
        bound = _bound_groups(core, topic) if lite and _is_parent(config) else []
        groups = bound + [one for one in _groups(core, self._chronicle, topic) if one not in bound]
        if self._group is not None:
            groups = [self._group]
        if not groups:
            if topic not in self._mistyped:
                self._mistyped[topic] = _mistyped(core, topic)
            asked = f"no group has asked for {topic}{self._mistyped[topic]}"
            return [Reason(asked, certain=False)]
        return [
            _no_lite(broker, stored, lite, one)
            if lite and one in bound
            else self._why_not(broker, stored, one)
            for one in groups
        ]

    def _why_not(self, broker: Broker, stored: MessageExt, group: str) -> Reason:
        core, chronicle = self._core, self._chronicle
        earlier = _out_before(broker, stored, group)
        if earlier is not None:
            return Reason(earlier)
        kept = _kept(chronicle, broker, stored, group)
        if kept:
            return Reason(kept)
        members = inspection.members(core, group)
        filtered = _filtered(chronicle, broker, stored, group)
        if not members:
            if filtered is not None:
                return Reason(filtered)
            committed = broker.offsets.query(group, stored.topic, stored.queue_id)
            if committed > stored.queue_offset:
                past = f"group {group} committed offset {committed}, which is past it"
                return Reason(f"{past}, and has no member now")
            refused = chronicle.refusals.of_group(group)
            if refused is not None:
                return Reason(refused)
            # Not certain: a fault may have removed the members, and faults are listed before this.
            names = stored.topic, group
            if names not in self._mistyped_groups:
                self._mistyped_groups[names] = _mistyped_group(core, *names)
            hint = self._mistyped_groups[names]
            return Reason(f"group {group} has no member{hint}", certain=False)
        if core.proxy is not None and core.proxy.members(group):
            # The front asks for them, so the broker knows neither members nor subscriptions.
            if filtered is not None:
                return Reason(filtered)
            return Reason(f"no member of group {group} has received it", certain=False)
        refused = chronicle.refusals.of_group(group, stored.topic)
        if refused is not None:
            return Reason(refused)
        client_ids = {member.client_id for member in members}
        refused = _refused(broker, stored, group, client_ids, filtered)
        if refused is not None:
            return Reason(refused)
        return Reason(f"no member of group {group} has pulled it", certain=False)


def _is_parent(config: TopicConfig) -> bool:
    from fakemq.protocol.v5.lite import is_parent_type  # few messages have lite topics

    return is_parent_type(config.attributes)


def _no_lite(broker: Broker, stored: MessageExt, lite: str, group: str) -> Reason:
    """Return why a group has not received a message of a lite topic."""
    from fakemq.protocol.v5.lite import lite_queue
    from fakemq.store.light_queues import why_no_light_queue

    topic = stored.topic
    queue = lite_queue(topic, lite) or ""
    config = broker.config
    if why := why_no_light_queue(queue):
        return Reason(f"its lite topic {shortened(lite)} has no light queue: {why}")
    if not (config.enable_lmq and config.enable_multi_dispatch):
        keys = "enableLmq=true and enableMultiDispatch=true"
        return Reason(f"{broker.name} has no light queues, so no lite topics, without {keys}")
    if not _is_in(broker, stored, queue):
        return Reason(f"its lite topic {lite} was deleted: no consumer gets it any more")
    for offset, at_ms, _ in broker.out_in_order(queue, group, 0):
        if at_ms > broker.clock.now_ms():
            until = clock_text(at_ms - broker.clock.skew_ms)
            return Reason(
                f"group {group} consumes its lite topic {lite} in order, and offset {offset} is"
                f" not acknowledged and invisible until {until}"
            )
    done = "popped from" if broker.has_lite_subscriber(group, topic, queue) else "subscribed to"
    return Reason(f"no client of group {group} has {done} its lite topic {lite}", certain=False)


def _is_in(broker: Broker, stored: MessageExt, queue: str) -> bool:
    """Return whether a message is in a light queue."""
    from fakemq.store.light_queues import LightRule

    rule, place = LightRule.of(broker.config), (stored.topic, stored.queue_id)
    for name, queue_id, offset in rule.entries(stored.properties, *place):
        unit = broker.store.queue_unit(name, queue_id, offset) if name == queue else None
        if unit is not None and unit[0] == stored.commit_log_offset:
            return True
    return False


def _bound_groups(core: ClusterCore, topic: str) -> list[str]:
    """Return the groups that are bound to the parent of lite topics."""
    from fakemq.broker.v5.lite.settings import LiteGroups  # few topics are for lite topics

    found: set[str] = set()
    for broker in core.brokers.values():
        found |= LiteGroups(broker.groups).bound_to().get(topic, set())
    return sorted(found)


def _refusing_slaves(core: ClusterCore, master: Broker) -> str:
    """Return which running slaves of a broker refuse pulls, as the end of a reason; "" for none."""
    names = [
        slave.name
        for slave in core.brokers.values()
        if slave.config.broker_name == master.config.broker_name
        and slave.running
        and slave.refuses_pulls()
    ]
    if not names:
        return ""
    refuse = "refuses" if len(names) == 1 else "refuse"
    return f", and {' and '.join(names)} {refuse} pulls: slaveReadEnable=false"


def _groups(core: ClusterCore, chronicle: Chronicle, topic: str) -> list[str]:
    """Return the groups that consume a topic, as far as tables and the journal show."""
    if topic.startswith(RETRY_PREFIX):
        return [topic.removeprefix(RETRY_PREFIX)]
    found: dict[str, None] = {}
    for broker in core.brokers.values():
        found |= dict.fromkeys(finished(broker.consumers.groups_of_topic(topic)))
        found |= dict.fromkeys(finished(broker.offsets.which_groups_by_topic(topic)))
    refused = chronicle.refusals.groups(topic)
    found |= chronicle.pulling.get(topic, {}) | dict.fromkeys(refused)
    return [group for group in found if group != TOOLS_GROUP]  # tools only look at messages


def _mistyped(core: ClusterCore, topic: str) -> str:
    """Return which group subscribes to an almost equal topic, as the end of a reason."""
    for broker in core.brokers.values():
        for group, members in broker.consumers.snapshot().items():
            subscribed = broker.consumers.subscriptions(group) if members else None
            meant = almost_like(topic, subscribed or ())
            if meant is not None:
                return f"; group {group} subscribes to {meant}; did you mean {topic}?"
    return ""


def _mistyped_group(core: ClusterCore, topic: str, group: str) -> str:
    """Return which group is meant, or has the members of this one, as the end of a reason."""
    brokers = core.brokers.values()
    for broker in brokers:
        for other in finished(broker.consumers.groups_of_topic(topic)):
            if other != group and almost_like(other, [group]) and broker.consumers.members(other):
                return f"; group {other} subscribes to {topic}; did you mean {group}?"
    if any(group in one.groups for one in brokers):
        return ""
    there = sorted({name for one in brokers for name in one.groups.snapshot()})
    # To compare 30,000 names takes over a second; a slip leaves most names beside the right one.
    at = bisect(there, group)
    near = there[max(0, at - _NEIGHBOURS) : at + _NEIGHBOURS]
    return did_you_mean(group, near, cutoff=0.8, lists=False)


def _other_form(expression: str | None, tag: str | None) -> str:
    """Return how tags are joined if an expression joins a tag in another form."""
    tags = re.split(r"[,;|&\s]+", expression or "")
    return f"; several tags are joined by ||: {' || '.join(tags)}" if tag in tags else ""


def _out_before(broker: Broker, stored: MessageExt, group: str) -> str | None:
    """Return which earlier message keeps a queue from a group that pops in order; None if none."""
    for offset, at_ms, _ in broker.out_in_order(stored.topic, group, stored.queue_id):
        if offset < stored.queue_offset and at_ms > broker.clock.now_ms():
            return (
                f"group {group} consumes its queue in order, and offset {offset} is not"
                f" acknowledged and invisible until {clock_text(at_ms - broker.clock.skew_ms)}"
            )
    return None


def _kept(chronicle: Chronicle, broker: Broker, stored: MessageExt, group: str) -> str:
    """Return which offset of before its topic was deleted a group goes past a message with."""
    name = broker.config.broker_name
    appended = chronicle.appended.get((name, stored.commit_log_offset))
    place = name, stored.topic, stored.queue_id, stored.queue_offset
    return "" if appended is None else kept_offset(chronicle, place, appended.seq, group)


def _filtered(chronicle: Chronicle, broker: Broker, stored: MessageExt, group: str) -> str | None:
    """Return which filter a read of the group went past a message with; None for none."""
    name = broker.config.broker_name
    appended = chronicle.appended.get((name, stored.commit_log_offset))
    place = name, stored.topic, stored.queue_id, stored.queue_offset
    passed = chronicle.filter_that_passed(place, group, 0 if appended is None else appended.seq)
    if passed is None:
        return None
    tag = f"tag {stored.tags!r}" if stored.tags else "a message without tag"
    return f"filter {passed.expression!r} of group {group} did not match {tag}"


def _refused(
    broker: Broker, stored: MessageExt, group: str, client_ids: set[str], filtered: str | None
) -> str | None:
    """Return why the group's pulls cannot return a message, or None if they can.

    ``filtered`` says which filter went past it.
    """
    settings = broker.groups.existing(group)
    if settings is not None and not settings.consume_enable:
        return f"consume is disabled for group {group}"
    info = broker.consumers.group(group)
    if info is None:
        return f"no member of group {group} is connected to {broker.name}"
    subscription = info.subscriptions.get(stored.topic)
    if subscription is None:
        others = [topic for topic in info.subscriptions if not topic.startswith(RETRY_PREFIX)]
        more = " and more" if len(others) > OTHERS_AT_MOST else ""
        but = f", but to {', '.join(others[:OTHERS_AT_MOST])}{more}" if others else ""
        return f"group {group} does not subscribe to {stored.topic}{but}"
    tags = subscription.tags_set
    if is_tag_type(subscription.expression_type) and tags and stored.tags not in tags:
        return (
            f"tag filter {subscription.sub_string!r} of group {group} does not match"
            f" {f'tag {stored.tags!r}' if stored.tags else 'a message without tag'}"
            f"{_other_form(subscription.sub_string, stored.tags)}"
        )
    if filtered is not None:
        return filtered
    committed = broker.offsets.query(group, stored.topic, stored.queue_id)
    if committed > stored.queue_offset:
        return f"group {group} has committed offset {committed} already, which is past it"
    queue = MessageQueue(
        topic=stored.topic, broker_name=broker.config.broker_name, queue_id=stored.queue_id
    )
    owner = broker.locks.snapshot().get(group, {}).get(queue)
    if owner is not None and owner not in client_ids:
        return f"its queue is locked by {owner}, which is no member of group {group}"
    return None


# Finds out that a new group got messages of before its first start, although it wants later ones.
#
# This is no reason why a message is missing: only what saw too many messages asks for it.

_LAST = "CONSUME_FROM_LAST_OFFSET"
BEGAN_AT_0 = (
    "consumes from the last offset, and was new: while a queue has its first message a broker"
    " says that a new group begins at 0"
)


def older_than_group(
    core: ClusterCore, chronicle: Chronicle, topic: str, group: str
) -> Steps[list[str]]:
    """Return the messages of a topic that a new group received, and that are older than it.

    Source: broker/processor/ConsumerManageProcessor.java#queryConsumerOffset (4.9.7)
    """
    joined = chronicle.joined.get(group)
    infos = (broker.consumers.group(group) for broker in core.brokers.values())
    wants = {info.consume_from_where for info in infos if info is not None}
    found = Findings()
    if joined is None or _LAST not in wants:
        return []
    for record, entry in list(chronicle.appended.items()):
        yield
        event = entry.event
        assert isinstance(event, LogAppended)
        if event.topic != topic or entry.seq > joined.seq or chronicle.deletion(record):
            continue
        place = record[0], topic, event.queue_id, event.queue_offset
        commits = chronicle.commits.get(place[:3], {}).get(group, ())
        known = any(one.end_offset and one.first.seq < joined.seq for one in commits)
        stored = core.brokers[event.node].store.look_message_by_offset(record[1])
        if stored is not None and not known and chronicle.received(place, group):
            found.add(topic, f"stored before {group} began, which {BEGAN_AT_0}", name_of(stored))
    return found.lines()
