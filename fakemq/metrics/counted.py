"""What a broker counts: each counter is added to by the events of the journal that it stands for.

Source: broker/processor/*.java, broker/metrics/BrokerMetricsManager.java, PopMetricsManager.java,
store/metrics/DefaultStoreMetricsManager.java,
remoting/netty/NettyRemotingAbstract.java#writeResponse (5.5.0)
"""

# Over 400 lines: one table of events, and a short method for each.

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fakemq.events.core import (
    DeadLettered,
    Delivered,
    HalfStored,
    LogAppended,
    NodeStarted,
    PullHeld,
    RequestHandled,
    RequestReceived,
    ScheduledDelivered,
    TransactionDiscarded,
    TransactionEnded,
)
from fakemq.events.faults import FaultHit
from fakemq.events.pop import Popped, Revived
from fakemq.events.timers import TimerDelivered, TimerRolled, TimerSet
from fakemq.metrics.instruments import Histogram, Meter, Tally
from fakemq.protocol.bodies.pop import AckMsg, BatchAckMsg, PopCheckPoint
from fakemq.protocol.codes import RequestCode, ResponseCode, code_name
from fakemq.protocol.errors import BodyError
from fakemq.protocol.limits import RECORD_JSON, RECORD_MAX_BYTES
from fakemq.protocol.pop import (
    ACK_TAG,
    BATCH_ACK_TAG,
    CK_TAG,
    REVIVE_GROUP,
    normal_topic,
    revive_topic,
)
from fakemq.protocol.properties import (
    DELAY_TIME_LEVEL,
    REAL_TOPIC,
    RETRY_TOPIC,
    SHARDING_KEY,
    TIMER_DELAY_MS,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
    TIMER_OUT_MS,
    TRANSACTION_PREPARED,
)
from fakemq.protocol.timers import TIMER_ROLL_TIMES, TIMER_TOPIC
from fakemq.protocol.topics import DLQ_PREFIX, RETRY_PREFIX, SCHEDULE_TOPIC
from fakemq.protocol.v5.codes import RequestCode5, ResponseCode5

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fakemq.broker.broker import Broker
    from fakemq.config.v5.model import BrokerConfig5
    from fakemq.events.core import Event
    from fakemq.journal.entries import Entry
    from fakemq.metrics.instruments import Family
    from fakemq.protocol.message import MessageExt

KIB: Final = 1024
_SIZE_BOUNDS: Final = (KIB, 4 * KIB, 512 * KIB, KIB * KIB, 2 * KIB * KIB, 4 * KIB * KIB)
_CREATE_BOUNDS: Final = (10, 100, 1_000, 3_000, 5_000)
_RPC_BOUNDS: Final = (1, 3, 5, 7, 10, 100, 1_000, 2_000, 3_000)
_HOUR_S: Final = 3_600
_COMMIT_BOUNDS: Final = (5, 60, 600, _HOUR_S, 12 * _HOUR_S, 24 * _HOUR_S)
_DELAY_BOUNDS: Final = (60, 600, _HOUR_S, 12 * _HOUR_S, 24 * _HOUR_S, 72 * _HOUR_S)
STORAGE: Final = {"storage_type": "local", "storage_medium": "disk"}
"""Labels of all metrics of a store, also of one in memory."""
MOST_REQUESTS: Final = 100_000
"""How many requests without an answer are known; of an older one no latency is counted."""

_REPLIES: Final = (RequestCode.SEND_REPLY_MESSAGE, RequestCode.SEND_REPLY_MESSAGE_V2)
_SENDS: Final = frozenset(
    (
        *(RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE),
        *_REPLIES,
    )
)
_HELD: Final = frozenset(
    (RequestCode5.POP_MESSAGE, RequestCode5.NOTIFICATION, RequestCode5.POP_LITE_MESSAGE)
)
"""Requests that wait without an event that says so."""
_DELAYS: Final = frozenset(
    (
        *("__STARTDELIVERTIME", DELAY_TIME_LEVEL),
        *(TIMER_DELIVER_MS, TIMER_DELAY_SEC, TIMER_DELAY_MS),
    )
)
_ACKS: Final[dict[str, type[PopCheckPoint | AckMsg]]] = {
    CK_TAG: PopCheckPoint,
    ACK_TAG: AckMsg,
    BATCH_ACK_TAG: BatchAckMsg,
}


class _Request:
    """A request that has arrived and is not answered yet."""

    __slots__ = ("at_ms", "code", "held", "messages", "number", "size_bytes", "stored")

    def __init__(self, code: int, at_ms: int, number: int) -> None:
        self.code = code
        self.at_ms = at_ms
        self.number = number
        """How many requests had arrived, this one included."""
        self.held = False
        self.stored: dict[str, str] = {}
        """The labels of what it has stored."""
        self.messages = self.size_bytes = 0


class BrokerCounts:
    """The counters of one broker since its start. A reset of the cluster is a start, too."""

    def __init__(self, broker: Broker, config: BrokerConfig5, meter: Meter) -> None:
        # Over 70 lines: one metric after the other, and the table of events.
        self._broker = broker
        self._config = config
        self._revive_topic = revive_topic(config.broker_cluster_name)
        self._requests: dict[int, _Request] = {}
        """By the number of their entry, the oldest first."""
        self._arrived = 0
        self._delivered: Delivered | None = None
        """The last one: if a pop has taken the messages, the next event says so."""
        self._epoch = broker.journal.epoch
        self.half_messages: dict[str, int] = {}
        """How many half messages of each topic wait for the end of their transaction."""
        of_requests, of_store = config.enable_request_metrics, config.enable_message_store_metrics
        self._shown: list[Tally | Histogram] = []

        def counter(name: str, shown: bool) -> Tally:
            made = Tally(meter, name)
            self._shown += [made] if shown else []
            return made

        def histogram(
            name: str, text: str, bounds: tuple[int, ...], unit: str, shown: bool
        ) -> Histogram:
            made = Histogram(meter, name, text, bounds, unit)
            self._shown += [made] if shown else []
            return made

        self._in = counter("rocketmq_messages_in", of_requests)
        self._in_bytes = counter("rocketmq_throughput_in", of_requests)
        self._out = counter("rocketmq_messages_out", of_requests)
        self._out_bytes = counter("rocketmq_throughput_out", of_requests)
        self._size = histogram(
            "rocketmq_message_size", "Incoming messages size", _SIZE_BOUNDS, "", of_requests
        )
        self._topic_ms = histogram(
            "rocketmq_topic_create_execution_time",
            "The distribution of create topic time",
            _CREATE_BOUNDS,
            "milliseconds",
            of_requests,
        )
        self._group_ms = histogram(
            "rocketmq_consumer_group_create_execution_time",
            "The distribution of create subscription time",
            _CREATE_BOUNDS,
            "milliseconds",
            of_requests,
        )
        self._dead = counter("rocketmq_send_to_dlq_messages", config.enable_lag_and_dlq_metrics)
        of_transactions = config.enable_transaction_metrics
        self._commits = counter("rocketmq_commit_messages", of_transactions)
        self._rollbacks = counter("rocketmq_rollback_messages", of_transactions)
        self._finish = histogram(
            "rocketmq_finish_message_latency",
            "Transaction finish latency",
            _COMMIT_BOUNDS,
            "milliseconds",
            of_transactions,
        )
        self._rpc_ms = histogram(
            "rocketmq_rpc_latency",
            "Rpc latency",
            _RPC_BOUNDS,
            "milliseconds",
            config.enable_remoting_metrics,
        )
        has_timers = of_store and config.timer_wheel_enable
        self._enqueued = counter("rocketmq_timer_enqueue", has_timers)
        self._dequeued = counter("rocketmq_timer_dequeue", has_timers)
        self._delay = histogram(
            "rocketmq_delay_message_latency",
            "Timer message set latency distribution",
            _DELAY_BOUNDS,
            "seconds",
            has_timers,
        )
        of_pops = config.enable_pop_metrics
        self._revive_in = counter("rocketmq_pop_revive_in_message", of_pops)
        self._revive_out = counter("rocketmq_pop_revive_out_message", of_pops)
        self._revive_retries = counter("rocketmq_pop_revive_retry_messages", of_pops)
        self._take: Mapping[type[Event], Callable[[Entry, Any], None]] = {
            NodeStarted: self._started,
            RequestReceived: self._received,
            RequestHandled: self._handled,
            PullHeld: self._held,
            LogAppended: self._appended,
            Delivered: self._pulled,
            Popped: self._popped,
            ScheduledDelivered: self._came_due,
            DeadLettered: self._dead_lettered,
            HalfStored: self._half_stored,
            TransactionEnded: self._ended,
            TransactionDiscarded: self._discarded,
            TimerSet: self._timer_set,
            TimerDelivered: self._timer_left,
            TimerRolled: self._timer_left,
            Revived: self._revived,
        }
        broker.journal.listen(self._on_entry, *self._take)

    def read(self) -> Iterator[Family]:
        """Yield the metrics as they are now."""
        self._look_at_epoch()
        self._count_pulled()
        for one in self._shown:
            yield one.read()

    def _on_entry(self, entry: Entry) -> None:
        event = entry.event
        if event.node == self._broker.name:
            if self._delivered is not None and type(event) is not Popped:
                self._count_pulled()
            self._take[type(event)](entry, event)

    # -- its life -----------------------------------------------------------------------------

    def _started(self, entry: Entry, event: NodeStarted) -> None:
        """Begin at nothing, as a new process does; half messages are in the store."""
        for one in self._shown:
            one.clear()
        self._requests.clear()
        self._delivered = None

    def _look_at_epoch(self) -> None:
        """Begin at nothing after a reset of the cluster, which numbers entries anew."""
        epoch = self._broker.journal.epoch
        if epoch != self._epoch:
            self._epoch = epoch
            for one in self._shown:
                one.clear()
            self._requests.clear()
            self.half_messages.clear()
            self._delivered = None

    # -- requests -----------------------------------------------------------------------------

    def _received(self, entry: Entry, event: RequestReceived) -> None:
        self._look_at_epoch()
        self._arrived += 1
        self._requests[entry.seq] = _Request(event.code, entry.at_ms, self._arrived)
        if len(self._requests) > MOST_REQUESTS:
            del self._requests[next(iter(self._requests))]

    def _held(self, entry: Entry, event: PullHeld) -> None:
        request = self._requests.get(self._number_of_request(entry))
        if request is not None:
            request.held = True

    def _handled(self, entry: Entry, event: RequestHandled) -> None:
        request = self._requests.pop(self._number_of_request(entry), None)
        if request is None:
            return
        if request.messages:
            self._size.record(request.size_bytes // request.messages, **request.stored)
        latency_ms = max(0, entry.at_ms - request.at_ms)
        is_oneway = event.response_code is None
        code = ResponseCode.SUCCESS if event.response_code is None else event.response_code
        held = request.held or (
            request.code in _HELD and (latency_ms > 0 or self._arrived > request.number)
        )
        self._rpc_ms.record(
            latency_ms,
            protocol_type="remoting",
            request_code=_request_text(request.code),
            response_code=_response_text(code),
            is_long_polling=_flag(held),
            result="oneway" if is_oneway else "success",
        )
        self._count_creation(request.code, code, latency_ms)

    def _number_of_request(self, entry: Entry) -> int:
        """Return the number of the entry whose request has caused this one, perhaps by a fault."""
        number, journal = entry.cause, self._broker.journal
        while number not in self._requests:
            cause = journal.at(number)
            if cause is None or not isinstance(cause.event, FaultHit):
                break
            number = cause.cause
        return number

    def _count_creation(self, request_code: int, code: int, latency_ms: int) -> None:
        succeeded = code == ResponseCode.SUCCESS
        if request_code in (
            RequestCode.UPDATE_AND_CREATE_TOPIC,
            RequestCode5.UPDATE_AND_CREATE_TOPIC_LIST,
        ):
            status = "success" if succeeded else "failure"
            self._topic_ms.record(latency_ms, invocation_status=status, is_system="false")
        elif succeeded and request_code in (
            RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
            RequestCode5.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST,
        ):
            self._group_ms.record(latency_ms, invocation_status="success")

    # -- messages -----------------------------------------------------------------------------

    def _appended(self, entry: Entry, event: LogAppended) -> None:
        topic = event.topic
        request = self._requests.get(self._number_of_request(entry))
        if topic in (self._revive_topic, TIMER_TOPIC):
            self._count_revive_record(event)
        if request is None or request.code not in _SENDS or _is_of_retries(topic):
            return
        stored = request.stored = {
            "topic": topic,
            "message_type": self._type_of(event),
            "is_system": _flag(self._broker.topics.is_system(topic)),
        }
        request.messages += 1
        request.size_bytes += event.size_bytes
        self._in.add(1, **stored)
        self._in_bytes.add(event.size_bytes, **stored)

    def _type_of(self, event: LogAppended) -> str:
        """Return the type of a stored message.

        Source: BrokerMetricsManager.java#getMessageType (5.5.0)
        """
        message = self._message(event.phy_offset, event.size_bytes)
        properties = {} if message is None else message.properties
        if properties.get(TRANSACTION_PREPARED, "").lower() == "true":
            return "transaction"
        if SHARDING_KEY in properties:
            return "fifo"
        return "normal" if _DELAYS.isdisjoint(properties) else "delay"

    def _pulled(self, entry: Entry, event: Delivered) -> None:
        self._delivered = event

    def _count_pulled(self) -> None:
        event, self._delivered = self._delivered, None
        if event is not None and not _is_of_retries(event.topic):
            self._count_out(event, event.topic)

    def _popped(self, entry: Entry, event: Popped) -> None:
        delivered, self._delivered = self._delivered, None
        if delivered is not None:
            topic = normal_topic(event.topic, event.group)
            self._count_out(delivered, topic, is_retry=_flag(topic != event.topic))

    def _count_out(self, event: Delivered, topic: str, **more: str) -> None:
        store = self._broker.store
        units = (store.queue_unit(event.topic, event.queue_id, offset) for offset in event.offsets)
        size_bytes = sum(unit[1] for unit in units if unit is not None)
        labels = self._of_group(topic, event.group) | more
        self._out.add(len(event.offsets), **labels)
        self._out_bytes.add(size_bytes, **labels)

    def _of_group(self, topic: str, group: str) -> dict[str, str]:
        system = self._broker.topics.is_system(topic) or is_system_group(group)
        return {"topic": topic, "consumer_group": group, "is_system": _flag(system)}

    def _came_due(self, entry: Entry, event: ScheduledDelivered) -> None:
        """Source: broker/schedule/ScheduleMessageService.java#onSuccess (5.5.0)"""
        record = self._broker.store.select_one_message_by_offset(event.phy_offset)
        if record is None:
            return
        waited = {
            "topic": SCHEDULE_TOPIC,
            "consumer_group": "SCHEDULE_CONSUMER",
            "is_system": "true",
        }
        self._out.add(1, **waited)
        self._out_bytes.add(len(record), **waited)
        system = _flag(self._broker.topics.is_system(event.topic))
        came = {"topic": event.topic, "message_type": "delay", "is_system": system}
        self._in.add(1, **came)
        self._in_bytes.add(len(record), **came)
        self._size.record(len(record), **came)

    def _dead_lettered(self, entry: Entry, event: DeadLettered) -> None:
        topic = RETRY_PREFIX + event.group
        if event.from_phy_offset is not None:
            message = self._message(event.from_phy_offset)
            if message is not None:
                topic = message.properties.get(RETRY_TOPIC, message.topic)
        self._dead.add(1, **self._of_group(topic, event.group))

    # -- transactions -------------------------------------------------------------------------

    def _half_stored(self, entry: Entry, event: HalfStored) -> None:
        self._change_halves(event.topic, 1)

    def _ended(self, entry: Entry, event: TransactionEnded) -> None:
        self._change_halves(event.topic, -1)
        if event.how == "rollback":
            self._rollbacks.add(1, topic=event.topic)
            return
        self._commits.add(1, topic=event.topic)
        message = None if event.phy_offset is None else self._message(event.phy_offset)
        if message is not None:
            age_ms = self._broker.clock.now_ms() - message.born_timestamp_ms
            self._finish.record(_seconds(age_ms), topic=event.topic)

    def _discarded(self, entry: Entry, event: TransactionDiscarded) -> None:
        self._change_halves(event.topic, -1)

    def _change_halves(self, topic: str, change: int) -> None:
        if topic in self.half_messages or len(self.half_messages) < MOST_REQUESTS:
            self.half_messages[topic] = self.half_messages.get(topic, 0) + change

    # -- timers, and records of POP -----------------------------------------------------------

    def _timer_set(self, entry: Entry, event: TimerSet) -> None:
        topic = {"topic": event.topic} if event.topic else {}
        self._enqueued.add(1, **STORAGE, **topic)
        message = self._message(event.phy_offset)
        if message is None:
            return
        due = message.properties.get(TIMER_OUT_MS, "")
        if due.isascii() and due.isdigit():
            waits_ms = int(due) - message.born_timestamp_ms
            self._delay.record(_seconds(waits_ms), **STORAGE, **topic)

    def _timer_left(self, entry: Entry, event: TimerDelivered | TimerRolled) -> None:
        self._dequeued.add(1, **STORAGE, topic=event.topic)

    def _count_revive_record(self, event: LogAppended) -> None:
        """Count a checkpoint or an acknowledgement: where it is put first, and where it is read."""
        message = self._message(event.phy_offset, event.size_bytes)
        if message is None:
            return
        is_read, properties = event.topic == self._revive_topic, message.properties
        if is_read:
            labels = self._of_group(event.topic, REVIVE_GROUP)
            self._out.add(1, **labels)
            self._out_bytes.add(event.size_bytes, **labels)
        elif properties.get(REAL_TOPIC) != self._revive_topic:
            return
        kind = _ACKS.get(message.tags or "")
        if kind is None or len(message.body) > RECORD_MAX_BYTES:
            return
        try:
            record = kind.decode(message.body, limits=RECORD_JSON)
        except BodyError:
            return  # a client may have sent this
        of = {
            "consumer_group": record.group or "null",
            "topic": record.topic or "null",
            "revive_message_type": "CK" if kind is PopCheckPoint else "ACK",
        }
        if is_read:
            self._revive_out.add(1, **of, queue_id=str(event.queue_id))
        is_first = (
            TIMER_ROLL_TIMES not in properties if not is_read else (TIMER_OUT_MS not in properties)
        )
        if is_first:
            self._revive_in.add(1, **of, put_status="PUT_OK")

    def _revived(self, entry: Entry, event: Revived) -> None:
        self._revive_retries.add(
            1, topic=event.topic, consumer_group=event.group, put_status="PUT_OK"
        )

    def _message(self, phy_offset: int, size_bytes: int | None = None) -> MessageExt | None:
        return self._broker.store.look_message_by_offset(phy_offset, size_bytes)


def is_system_group(group: str) -> bool:
    """Source: broker/metrics/BrokerMetricsManager.java#isSystemGroup (5.5.0)"""
    return group.lower().startswith("cid_rmq_sys_")


def _is_of_retries(topic: str) -> bool:
    return topic.startswith((RETRY_PREFIX, DLQ_PREFIX))


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _seconds(ms: int) -> int:
    """Return whole seconds; Java cuts towards 0."""
    return ms // 1_000 if ms >= 0 else -(-ms // 1_000)


def _request_text(code: int) -> str:
    """Source: remoting/common/RemotingHelper.java#getRequestCodeDesc (5.5.0)"""
    return code_name(code).removeprefix("code ").lower()


def _response_text(code: int) -> str:
    """Source: remoting/common/RemotingHelper.java#getResponseCodeDesc (5.5.0)"""
    for table in (ResponseCode5, ResponseCode):
        try:
            return table(code).name.lower()
        except ValueError:
            continue
    return str(code)
