"""Follows the pops of a run, and compares them now and then with what its brokers know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.v5.broker import Broker5
from fakemq.dispatch.node import NodeState
from fakemq.protocol.pop import pop_retry_topic
from fakemq.sim.history import MASTER
from fakemq.sim.invariants.accounted import Unacknowledged, unaccounted
from fakemq.sim.invariants.invisibility import Invisibility

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fakemq.broker.broker import Broker
    from fakemq.core.cluster import ClusterCore
    from fakemq.sim.history import History, Violation
    from fakemq.sim.pops import GroupQueue


class PopWatch:
    """The pops of one run; ``groups`` maps each group that pops to its topics."""

    def __init__(
        self, core: ClusterCore, history: History, groups: Mapping[str, Sequence[str]]
    ) -> None:
        self._core = core
        self._history = history
        self._groups = groups
        self._invisibility = Invisibility()
        self._read = 0
        self._unaccounted: list[Violation] = []

    def look(self) -> None:
        """Read what happened since the last look, and compare that with the running masters."""
        entries = self._history.entries
        self._invisibility.pops.follow(entries[self._read :])
        self._read = len(entries)
        if self._unaccounted:
            return  # it would be found at each look
        for broker in self._core.brokers.values():
            if broker.state is NodeState.RUNNING and broker.name.endswith(MASTER):
                self._unaccounted += unaccounted(
                    self._invisibility.pops,
                    broker.name,
                    self._groups,
                    _Tables(broker, self._groups),
                )

    @property
    def found(self) -> list[Violation]:
        return self._invisibility.found + self._unaccounted

    def lost(self) -> set[tuple[str, str]]:
        """Return group and message id of messages that a lost machine may have taken along."""
        return self._invisibility.pops.lost()


class _Tables:
    """The tables of one broker, as `unaccounted` asks for them."""

    def __init__(self, broker: Broker, groups: Mapping[str, Sequence[str]]) -> None:
        self._broker = broker
        self._groups = groups
        assert isinstance(broker, Broker5), "only these have POP"
        self._pop = broker.pop

    def waiting(self) -> set[Unacknowledged]:
        return {
            Unacknowledged(ck.group or "", ck.topic or "", ck.queue_id, offset, ck.pop_time)
            for ck in (*self._pop.revive.waiting(), *self._pop.log.refused)
            for offset in ck.unacknowledged()
        }

    def queues(self, group: str) -> Iterator[tuple[str, int]]:
        v2 = self._pop.config.enable_retry_topic_v2
        for topic in self._groups[group]:
            for name in (topic, pop_retry_topic(topic, group, v2=v2)):
                config = self._broker.topics.select(name)
                for queue_id in range(0 if config is None else config.read_queue_nums):
                    yield name, queue_id

    def offsets(self, queue: GroupQueue) -> tuple[int, int]:
        _, group, topic, queue_id = queue
        store = self._broker.store
        following = self._pop.offsets.next_offset(topic, group, queue_id)
        return (
            store.min_offset_in_queue(topic, queue_id),
            min(following, store.max_offset_in_queue(topic, queue_id)),
        )
