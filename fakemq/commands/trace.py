"""``fakemq trace``: what became of one message, as the cluster and its clients know it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from fakemq.commands.output import Row, Table, shows
from fakemq.commands.running_cluster import RunningCluster, shown

if TYPE_CHECKING:
    from fakemq.protocol.message import MessageExt


@click.command(short_help="What became of one message.")
@click.argument("message_id", metavar="ID")
@click.option("--topic", metavar="NAME", help="Look for a unique id only in this topic.")
@click.option(
    "--trace-topic",
    metavar="NAME",
    help="Where clients write their traces.  [default: RMQ_SYS_TRACE_TOPIC]",
)
@shows
def trace(
    cluster: RunningCluster, message_id: str, topic: str | None, trace_topic: str | None
) -> Iterator[Table]:
    """What became of one message: its records, its traces, and which groups consumed it.

    Shows its records in the topic, in topics of retries and of dead letters; the traces of
    clients that write them; and for each group whether its offset is beyond the message.
    """
    from fakemq.commands.found_message import found_message
    from fakemq.protocol.topics import TRACE_TOPIC

    message = found_message(cluster, message_id, topic)
    origin = _origin(message)
    groups = _groups_of(cluster, origin)
    steps = [
        *_records(cluster, message, origin, groups),
        *_traces(cluster, message, trace_topic or TRACE_TOPIC),
    ]
    steps.sort(key=lambda row: (row["at_ms"], _ORDER.index(str(row["step"]))))
    yield Table("step", ("at_ms", "step", "where", "detail"), steps)
    yield Table(
        "consumed",
        ("group", "state", "consumer_offset", "members"),
        _consumed(cluster, message, groups),
        "" if groups else f"no group has consumed {origin} or subscribes to it",
    )


_ORDER = (
    *("sent", "half ended", "stored", "delivered", "consumed", "failed", "stored to retry"),
    "dead letter",
)
"""The steps, in the order in which those of one millisecond are shown."""


def _origin(message: MessageExt) -> str:
    """Return the topic to which a message was sent, also for its retries and dead letters."""
    from fakemq.protocol.pop import ORIGIN_GROUP, normal_topic
    from fakemq.protocol.topics import DLQ_PREFIX, RETRY_PREFIX

    topic = message.topic
    if topic.startswith((RETRY_PREFIX, DLQ_PREFIX)):
        topic = message.properties.get("RETRY_TOPIC", topic)
    group = message.properties.get(ORIGIN_GROUP)  # of a message that was popped
    return topic if group is None else normal_topic(topic, group) or topic


def _groups_of(cluster: RunningCluster, topic: str) -> list[str]:
    found = cluster.answers(
        {one: cluster.brokers_admin.groups_of_topic(topic, one.addr) for one in cluster.asked}
    )
    return shown({name for names in found.values() for name in names})


def _records(
    cluster: RunningCluster, message: MessageExt, origin: str, groups: list[str]
) -> Iterator[Row]:
    """Return the message's records: the first, and those of its retries and dead letters."""
    from fakemq.commands.found_message import broker_of
    from fakemq.protocol.pop import pop_retry_topic
    from fakemq.protocol.topics import dlq_topic, retry_topic

    topics = [of(group) for group in groups for of in (retry_topic, dlq_topic)]
    topics += [pop_retry_topic(origin, group, v2=v2) for group in groups for v2 in (False, True)]
    known = set(cluster.topic_names())
    copies = cluster.messages(
        [topic for topic in topics if topic in known and topic != message.topic],
        message.msg_id,
        unique=True,
    )
    first = {one.topic: one for one in reversed(copies)}  # of each topic its first stored one
    for one in (message, *first.values()):
        where = f"{one.topic} {broker_of(cluster, one)}:{one.queue_id}:{one.queue_offset}"
        step = "stored"
        if one.topic.startswith("%RETRY%"):
            step = "stored to retry"
        elif one.topic.startswith("%DLQ%"):
            step = "dead letter"
        detail = f"attempt {one.reconsume_times + 1}" if step == "stored to retry" else ""
        yield {"at_ms": one.store_timestamp_ms, "step": step, "where": where, "detail": detail}


def _traces(cluster: RunningCluster, message: MessageExt, topic: str) -> Iterator[Row]:
    from fakemq.client.producing.trace_records import read_traces

    found = cluster.messages([topic], message.msg_id, unique=False)
    steps = [
        step
        for one in found
        for step in read_traces(one.body.decode("utf-8", "replace"))
        if step.message_id == message.msg_id
    ]
    begun = {step.request_id: step for step in steps if step.step == "SubBefore"}
    for step in steps:
        at_ms, group = step.at_ms, step.group
        if step.step == "SubAfter":
            begin = begun.get(step.request_id)
            at_ms = at_ms or (begin.at_ms + step.cost_ms if begin else 0)
            group = group or (begin.group if begin else "")
        yield {
            "at_ms": at_ms,
            "step": _step_name(step.step, step.success),
            "where": f"{'producer' if step.step in ('Pub', 'EndTransaction') else 'group'} {group}",
            "detail": _detail(step.step, step.cost_ms, step.retries, step.detail),
        }


def _step_name(step: str, success: bool | None) -> str:
    if step == "SubAfter":
        return "consumed" if success else "failed"
    return {"Pub": "sent", "SubBefore": "delivered", "EndTransaction": "half ended"}[step]


def _detail(step: str, cost_ms: int, retries: int, detail: str) -> str:
    parts = [detail] if detail else []
    if step in ("Pub", "SubAfter"):
        parts.append(f"took {cost_ms} ms")
    if step == "SubBefore":
        parts.append(f"attempt {retries + 1}")
    return ", ".join(parts)


def _consumed(cluster: RunningCluster, message: MessageExt, groups: list[str]) -> list[Row]:
    from fakemq.commands.found_message import broker_of

    broker = broker_of(cluster, message)
    stats = cluster.consume_stats(groups, message.topic)
    members = cluster.answers(
        {
            (group, one): cluster.brokers_admin.members(group, one.addr)
            for group in groups
            for one in cluster.asked
        }
    )
    rows: list[Row] = []
    for group in groups:
        offset = next(
            (
                one.consumer_offset
                for queue, one in stats[group].offset_table.items()
                if (queue.broker_name, queue.queue_id) == (broker, message.queue_id)
            ),
            None,
        )
        ids = {
            client.client_id
            for one in cluster.asked
            if (connection := members.get((group, one))) is not None
            for client in connection.connection_set
        }
        if offset is not None and offset > message.queue_offset:
            state = "its offset is beyond the message"
        else:
            state = "waits for the group" if ids else "waits: the group has no members"
        rows.append(
            {"group": group, "state": state, "consumer_offset": offset, "members": len(ids)}
        )
    return rows
