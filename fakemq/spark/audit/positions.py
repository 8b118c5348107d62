"""The positions of groups and delay levels, from the config files of stores."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from fakemq.dump.rows import Selection, config_rows, offset_rows
from fakemq.protocol.topics import RETRY_PREFIX

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from fakemq.spark.audit.inputs import RunNode

SYSTEM_GROUPS = ("TOOLS_CONSUMER", "FILTERSRV_CONSUMER", "__MONITOR_CONSUMER", "SELF_TEST_C_GROUP")
"""Groups of tools. Source: common/MixAll.java (4.9.7)"""
SYSTEM_GROUP_PREFIXES = ("CID_RMQ_SYS_", "CID_ONSAPI", "CID_ONS-HTTP-PROXY")


class GroupPosition(NamedTuple):
    """The next offset that a group will consume."""

    broker: str
    raw_topic: str
    queue_id: int
    group: str
    offset: int


class DelayProgress(NamedTuple):
    """The next offset that a delay level will deliver, in its queue of the schedule topic."""

    broker: str
    queue_id: int
    offset: int


class LogBegin(NamedTuple):
    """Where the log of a broker begins, and whether its master's store was read."""

    broker: str
    master: str | None
    log_begin: int


class Positions(NamedTuple):
    """The content of the config files of all nodes."""

    groups: list[GroupPosition]
    delays: list[DelayProgress]
    logs: list[LogBegin]
    filtered: set[tuple[str, str]]
    """Topic and group of subscriptions by SQL92; the audit cannot repeat that filter."""


def is_system_group(group: str) -> bool:
    """Return True if a group belongs to RocketMQ itself."""
    return group in SYSTEM_GROUPS or group.startswith(SYSTEM_GROUP_PREFIXES)


def read_positions(nodes: Iterable[RunNode]) -> Positions:
    """Read the ``config`` folders; a slave's values count if they are ahead, or if it is alone.

    The positions of delay levels reach slaves late, so only a slave without a master is read.
    """
    everything = Selection(None, None)
    groups: dict[tuple[str, str, int, str], int] = {}
    delays: dict[tuple[str, int], int] = {}
    logs: dict[str, LogBegin] = {}
    filtered = set()
    for node in sorted(nodes, key=lambda one: one.broker_id):
        stored = node.stored()
        first = logs.setdefault(
            node.broker,
            LogBegin(node.broker, node.name if node.is_master else None, stored.log.min_offset),
        )
        for row in offset_rows(stored, everything, _ignore_rest):
            offset = row["offset"]
            if not isinstance(offset, int):
                continue  # this file is damaged
            if row["of"] == "consumer" and isinstance(row["queueId"], int):
                key = node.broker, row["topic"], row["queueId"], row["name"]
                groups[key] = max(groups.get(key, 0), offset)
            elif row["of"] == "delay" and (first.master in (None, node.name)):
                level = row["name"].removeprefix("level ")
                if level.isdecimal():
                    place = node.broker, int(level) - 1
                    delays[place] = max(delays.get(place, 0), offset)
        for row in config_rows(stored, everything, _ignore_rest):
            if row["of"] == "filter":
                topic, _, group = row["name"].partition("@")
                filtered.add((topic, group))
    return Positions(
        [GroupPosition(*key, offset) for key, offset in sorted(groups.items())],
        [DelayProgress(*key, offset) for key, offset in sorted(delays.items())],
        list(logs.values()),
        filtered,
    )


def groups_of(positions: Iterable[GroupPosition]) -> set[tuple[str, str]]:
    """Return topic and group of every offset, without tools and retry topics."""
    return {
        (one.raw_topic, one.group)
        for one in positions
        if not one.raw_topic.startswith(RETRY_PREFIX) and not is_system_group(one.group)
    }


def frames(spark: SparkSession, found: Positions) -> tuple[DataFrame, DataFrame, DataFrame]:
    """Return the positions of groups, those of delay levels, and the logs."""
    return (
        spark.createDataFrame(
            found.groups,
            "broker string, raw_topic string, queue_id int, `group` string, committed long",
        ),
        spark.createDataFrame(found.delays, "broker string, queue_id int, delay_offset long"),
        spark.createDataFrame(found.logs, "broker string, master string, log_begin long"),
    )


def _ignore_rest(size_bytes: int) -> None:
    pass
