"""The parts of a broker that only 5.5.0 has.

A part is made in `Parts5.__init__` from what it needs, as those of `Broker` are. The methods are
those of `ReferenceParts`: each calls the parts that have to do something at that moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.persistence import TIMER_METRICS
from fakemq.broker.v5 import send
from fakemq.broker.v5.offset_resets import OffsetResets
from fakemq.broker.v5.pop.service import PopService
from fakemq.broker.v5.pull_consumers import check_puller
from fakemq.broker.v5.pull_offsets import ForbiddenTopics, PullOffsets
from fakemq.broker.v5.read_subscriptions import ReadSubscriptions
from fakemq.broker.v5.slave_refusals import refuses_pulls
from fakemq.broker.v5.slave_tables import SlaveTables
from fakemq.broker.v5.table_versions import TableVersions
from fakemq.broker.v5.timers.service import TimerMessageService
from fakemq.broker.v5.topic_changes import group_error, topic_error
from fakemq.broker.v5.transactions import TransactionalMessageService5
from fakemq.config.v5.model import config5
from fakemq.dispatch.answers import Forbidden, ForbiddenType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fakemq.broker.broker import Broker
    from fakemq.broker.checks import SendRequest
    from fakemq.dispatch.answers import Refused
    from fakemq.ha.service import HAService
    from fakemq.net.session import Session
    from fakemq.protocol.bodies.topic import TopicConfig
    from fakemq.protocol.v5.bodies.timer import TimerMetricsSerializeWrapper
    from fakemq.store.inner_message import InnerMessage
    from fakemq.store.results import LogRecord, PutMessageStatus


class Parts5:
    """The parts of one broker of 5.5.0."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._config = config = config5(broker.config)
        file = broker.persistence.add(
            TIMER_METRICS, _timer_metrics, field="timingCount", pretty=False, late=True
        )
        broker.transactions = self._transactions = TransactionalMessageService5(
            broker.node,
            broker.store,
            broker.topics,
            broker.offsets,
            put=broker.put,
            check=broker.check_transactions,
        )
        self.timers = TimerMessageService(
            broker.node, config, broker.store, broker.stats, put=broker.put, keep=file.persist
        )
        file.connect(self.timers.metrics, self.timers.metrics.clear)
        self.offset_resets = OffsetResets(broker.offsets)
        self.pop = PopService(broker, self.offset_resets)
        self.versions = TableVersions(broker.clock.now_ms())
        self.pull_offsets = PullOffsets()
        self.read_subscriptions = ReadSubscriptions(broker.clock, config)
        broker.consumers.find_read = self.read_subscriptions.find
        self.forbidden = ForbiddenTopics()
        broker.groups.name_error = group_error
        self.fingerprints: dict[str, int] = {}
        """The fingerprint of each group's last heartbeat; 0 for one of the first form."""

    def start(self) -> None:
        self.versions.start(self._broker.clock.now_ms())
        self.timers.start()
        self.pop.start()

    def stop(self, *, persist: bool) -> None:
        self.pop.stop()
        if persist:
            self.pop.persist()
        self.timers.stop(persist=persist)

    def reset(self) -> None:
        self.versions.start(self._broker.clock.now_ms())
        self.offset_resets.clear()
        self.pull_offsets.clear()
        self.read_subscriptions.clear()
        self.forbidden.clear()
        self.fingerprints.clear()
        self.timers.reset(running=self._broker.running)
        self.pop.reset(running=self._broker.running)

    def restored(self) -> None:
        self.offset_resets.clear()
        self.pull_offsets.clear()
        self.read_subscriptions.clear()
        self.forbidden.clear()
        self.fingerprints.clear()
        self.timers.stop(persist=False)
        self.timers.start()
        self.pop.start()

    def follow_config(self) -> None:
        self.timers.follow_config()

    def settle(self) -> None:
        self._transactions.write_ended()
        self.timers.settle()

    def replication(self) -> HAService:
        from fakemq.ha.v5.service import HAService5  # most brokers have no slave

        broker = self._broker
        return HAService5(broker, SlaveTables(self.versions, broker.delay, self.pop, self.timers))

    def topic_error(self, topic: str) -> str | None:
        return topic_error(topic)

    def refuses_pulls(self) -> bool:
        return refuses_pulls(self._broker)

    def check_pull(self, group: str, topic: str) -> None:
        if self.forbidden.is_forbidden(group, topic):
            raise Forbidden(
                ForbiddenType.SUBSCRIPTION_FORBIDDEN,
                f"the consumer group[{group}] is forbidden for topic[{topic}]",
            )

    def check_puller(self, group: str, session: Session) -> None:
        check_puller(self._broker, group, session)

    def check_sent(self, request: SendRequest) -> None:
        send.check_sent(self._broker, request)

    def check_batch(self, request: SendRequest) -> None:
        send.check_batch(self._config, request)

    def prepare_send(self, message: InnerMessage, config: TopicConfig) -> None:
        send.prepare(self._broker, message, config)

    def prepare_reply(self, message: InnerMessage) -> None:
        send.prepare_reply(self._broker, message)

    def prepare_batch(self, message: InnerMessage) -> PutMessageStatus | None:
        return send.prepare_batch(self._broker.store, message)

    def send_answer(self, code: int, message: InnerMessage) -> dict[str, str]:
        return send.answer_fields(self._broker, code, message)

    def refusal(self, status: PutMessageStatus) -> Refused:
        return send.timer_refusal(self._config, status)

    def session_closed(self, session: Session) -> None:
        self.pop.session_closed(session)

    def forget_closed(self) -> None:
        self.pop.forget_closed()

    def arrived(self, records: Sequence[LogRecord]) -> None:
        self.pop.arrived(records)


def _timer_metrics() -> type[TimerMetricsSerializeWrapper]:
    from fakemq.protocol.v5.bodies.timer import TimerMetricsSerializeWrapper

    return TimerMetricsSerializeWrapper


def make(broker: Broker) -> Parts5:
    """Return the parts of a broker that is being made."""
    return Parts5(broker)


def parts_of(broker: Broker) -> Parts5:
    """Return the parts of a broker, for a handler of 5.5.0; the broker must be one."""
    assert isinstance(broker.parts, Parts5), "a broker of another reference"
    return broker.parts
