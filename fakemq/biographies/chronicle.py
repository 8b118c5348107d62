"""An index of the journal: which entries are about which record.

A record is named by (brokerName, physical offset), so a master's record and its slaves' copies are
one record.
"""

# Over 400 lines: one reader for each kind of event.

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from fakemq.biographies.pops import Place, Pops
from fakemq.biographies.refusals import Refusals
from fakemq.biographies.reset_table import Resets
from fakemq.biographies.roles import Roles
from fakemq.biographies.twins import TwinTable
from fakemq.broker.tables.persistence import ORDERS
from fakemq.events.core import (
    AccessRefused,
    ChangesLost,
    ClockMoved,
    ClockSkewed,
    CommitIgnored,
    DeadLettered,
    Delivered,
    DifferenceEnded,
    Dispatched,
    Event,
    HalfStored,
    LogAppended,
    MemberChanged,
    MessageChecked,
    NodeStarted,
    NodeStopped,
    OffsetCommitted,
    OffsetReset,
    OffsetWentBack,
    PullHeld,
    ReplyFailed,
    RequestHandled,
    RequestReceived,
    RoleChanged,
    RouteRefused,
    Scheduled,
    ScheduledDelivered,
    ScheduledDiscarded,
    SentBack,
    SnapshotRestored,
    SubscriptionsDiffer,
    TopicChanged,
    TransactionChecked,
    TransactionDiscarded,
    TransactionEnded,
)
from fakemq.events.escape import Escaped
from fakemq.events.faults import AnswerWithheld, FaultHit
from fakemq.events.filters import PassedOver, TagCollided
from fakemq.events.grpc import HandleRenewed, OrphanAsked, RpcReceived
from fakemq.events.lite import LiteTopicExpired
from fakemq.events.pop import Acknowledged, InvisibleTimeChanged, Popped, Revived
from fakemq.events.replication import LogTruncated, Replicated
from fakemq.events.store import AlsoQueued
from fakemq.events.timers import (
    TimerDelivered,
    TimerDiscarded,
    TimerRecalled,
    TimerRolled,
    TimerSet,
)
from fakemq.journal.cursor import Cursor
from fakemq.journal.entries import Entry
from fakemq.journal.journal import Journal
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.topics import LMQ_PREFIX, RETRY_PREFIX, TRANS_HALF_TOPIC

if TYPE_CHECKING:
    from fakemq.clock.slices import Steps

_ENTRIES_A_STEP = 1_000
_CHECKED_WITHIN = 16
"""How soon after its request a message is checked, in entries."""

Record: TypeAlias = tuple[str, int]
"""brokerName and physical offset."""


def _code(request: Entry) -> int:
    event = request.event
    assert isinstance(event, RequestReceived)
    return event.code


class Back(NamedTuple):
    """Committed offsets of a group in a queue, which went back without a commit."""

    entry: Entry
    group: str
    topic: str
    queue_id: int
    offset: int
    before: int
    why: str
    """As `Rising.why`."""


class Rising:
    """Entries whose offsets rise, such as commits of one group: "everything before it is done".

    It answers which entry was the first to pass a given offset.
    """

    def __init__(self, why: str = "") -> None:
        self.why = why
        """Why the offsets began anew, as in `OffsetWentBack`, or ``restart`` for those of a master
        whose slave had more; "" if a commit did."""
        # Two lists of equal length; the offsets ascend strictly, so that bisect finds one.
        self._offsets: list[int] = []
        self._entries: list[Entry] = []

    def put(self, offset: int, entry: Entry) -> None:
        """Add an entry; one whose offset is not beyond the last is dropped, as it adds nothing."""
        if not self._offsets or offset > self._offsets[-1]:
            self._offsets.append(offset)
            self._entries.append(entry)

    def cut(self, offset: int) -> None:
        """Forget the entries beyond an offset: what they say is no longer so."""
        index = bisect_right(self._offsets, offset)
        del self._offsets[index:], self._entries[index:]

    @property
    def end_offset(self) -> int:
        """The last offset; 0 if there is no entry."""
        return self._offsets[-1] if self._offsets else 0

    @property
    def first_offset(self) -> int:
        """The offset of the first entry; IndexError if there is no entry."""
        return self._offsets[0]

    @property
    def first(self) -> Entry:
        """The first entry; IndexError if there is none."""
        return self._entries[0]

    def past(self, offset: int) -> Entry | None:
        """Return the first entry beyond ``offset``, so that ``offset`` itself is done; or None."""
        index = bisect_right(self._offsets, offset)
        return self._entries[index] if index < len(self._entries) else None


class Chronicle:
    """The entries of one journal by record. `read` adds the entries written since its last call."""

    def __init__(self, journal: Journal, broker_names: Mapping[str, str]) -> None:
        self._journal = journal
        self.broker_names = broker_names
        """Node name → brokerName."""
        self._read = Cursor(journal)
        self._readers: dict[type[Event], Callable[[Entry], None]] = {
            AccessRefused: lambda entry: self.refusals.add(entry),
            Acknowledged: self._pop_news,
            AnswerWithheld: self._withheld,
            ChangesLost: self._changes_lost,
            ClockMoved: self._wall_moved,
            ClockSkewed: self._wall_moved,
            DeadLettered: self._dead_lettered,
            Delivered: self._delivered,
            HandleRenewed: self._renewed,
            DifferenceEnded: self._difference_ended,
            OrphanAsked: self._orphan_asked,
            FaultHit: lambda entry: self.hits[entry.cause].append(entry),
            Dispatched: self._dispatched,
            HalfStored: self._half_stored,
            LogAppended: self._appended,
            AlsoQueued: self._also_queued,
            LiteTopicExpired: self._lite_topic_expired,
            LogTruncated: self._truncated,
            InvisibleTimeChanged: self._pop_news,
            MemberChanged: self._member_changed,
            CommitIgnored: self._commit_ignored,
            NodeStarted: self._node_started,
            NodeStopped: self._node_changed,
            OffsetReset: self._reset,
            OffsetWentBack: self._went_back,
            PassedOver: self._passed_over,
            TagCollided: self._collided,
            OffsetCommitted: self._committed,
            Popped: self._popped,
            PullHeld: self._pull_held,
            Replicated: self._replicated,
            ReplyFailed: self._reply_failed,
            RequestHandled: self._handled,
            RoleChanged: lambda entry: self.roles.changed(entry),
            RequestReceived: self._received,
            RouteRefused: self._route_refused,
            Escaped: self._escaped,
            Revived: self._revived,
            RpcReceived: self._rpc_received,
            Scheduled: self._scheduled,
            ScheduledDelivered: self._made,
            ScheduledDiscarded: self._record_news,
            SentBack: self._made,
            SnapshotRestored: lambda entry: self._forget(),
            SubscriptionsDiffer: self._subscriptions_differ,
            TimerDelivered: self._made,
            TimerDiscarded: self._record_news,
            TimerRecalled: self._record_news,
            TimerRolled: self._made,
            TimerSet: self._record_news,
            TopicChanged: self._topic_changed,
            TransactionChecked: self._checked,
            TransactionDiscarded: self._half_news,
            TransactionEnded: self._ended,
        }
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._walls: list[Entry] = []
        """Jumps of the wall time of the cluster and of its nodes."""
        self.refused_routes: dict[str, list[Entry]] = defaultdict(list)
        """Topic → the questions for it that name servers could not answer."""
        self.created: dict[str, Entry] = {}
        """Topic → the entry that created it first."""
        self.differing: dict[tuple[str, str], dict[tuple[str, str], SubscriptionsDiffer]] = (
            defaultdict(dict)
        )
        """Group and topic → client ids of two members → how they did not subscribe to the same when
        they were members together last."""
        self.topic_changes: dict[str, list[int]] = defaultdict(list)
        """Topic → the numbers of the entries that changed it, or its queues."""
        self.node_changes: list[int] = []
        """The numbers of the entries by which brokers stopped or started."""
        self.refusals = Refusals()
        self.joined: dict[str, Entry] = {}
        """Consumer group → when its first member joined."""
        self.producers: set[tuple[str, str]] = set()
        """Broker and group of each producer that has ever been connected."""
        self._forget()

    def _forget(self) -> None:
        """Forget all records: after a restored snapshot their offsets name other records."""
        self.appended: dict[Record, Entry] = {}
        """The entry that appended a record."""
        self.news: dict[Record, list[Entry]] = defaultdict(list)
        """What happened to a record without making another record from it."""
        self.made: dict[Record, list[tuple[Record, Entry]]] = defaultdict(list)
        """The records made from a record, such as its retry, each with the entry that made it."""
        self.made_from: dict[Record, tuple[Record, Entry]] = {}
        """The reverse of `made`."""
        self._also: dict[Record, list[Place]] = defaultdict(list)
        """The places of a record in queues that it names."""
        self._in_light: dict[tuple[str, str], list[Record]] = defaultdict(list)
        """BrokerName and light queue → its records."""
        self.delivered: dict[Place, list[Entry]] = defaultdict(list)
        """Pull answers that left for a consumer."""
        self.withheld: dict[Place, list[Entry]] = defaultdict(list)
        """Pull answers that a fault held back."""
        self.roles = Roles(self.broker_names)
        self.pops = Pops()
        self.twins = TwinTable()
        self._last_delivered: Entry | None = None
        self.pulling: dict[str, dict[str, None]] = defaultdict(dict)
        """The groups that pulled a topic, in the order of their first pulls."""
        self.commits: dict[tuple[str, str, int], dict[str, list[Rising]]] = defaultdict(dict)
        """Committed offsets by (brokerName, topic, queue id) and group; a smaller offset than the
        last begins a new `Rising`."""
        self._last_commits: dict[str, dict[tuple[str, int, str], int]] = defaultdict(dict)
        """Node → topic, queue id and group → the last offset that is committed there."""
        self.ignored: dict[tuple[str, str, int], dict[str, list[Rising]]] = defaultdict(dict)
        """As `commits`, those that a broker did not store."""
        self.failed_replies: dict[str, list[Entry]] = defaultdict(list)
        """Correlation id → the replies that could not be pushed."""
        self.resets = Resets()
        self.deleted: dict[tuple[str, str], Entry] = {}
        """BrokerName and topic → the last entry that deleted it."""
        self.back: list[Back] = []
        """Offsets that went back without a commit."""
        self.passed_over: dict[tuple[str, str, int], dict[str, list[Rising]]] = defaultdict(dict)
        """In the same way, reads that went past messages because of a filter, by their ends."""
        self.collided: dict[Place, list[Entry]] = defaultdict(list)
        """Answers with a message that its client drops."""
        self.replicated: dict[str, Rising] = defaultdict(Rising)
        """Slave's name → the ends of its log over time."""
        self.answers: dict[int, int | None] = {}
        """Number of a request's entry → response code; None if there was no response."""
        self._unanswered: dict[int, list[tuple[Record, Entry]]] = defaultdict(list)
        """Number of a request's entry → what it stored, until it is answered; under controllers."""
        self._copies: dict[int, tuple[int, int]] = {}
        """Number of an append's entry → `copies`, as they were when it was answered."""
        self.requests: dict[int, Entry] = {}
        """Number of a request's entry → the entry."""
        self.hits: dict[int, list[Entry]] = defaultdict(list)
        """Faults that acted, by the number of the entry that they affected."""
        self._clients: dict[tuple[str, str], str] = {}
        """(node, client's address) → client id."""
        self._grpc_clients: dict[str, str] = {}
        """Address of a gRPC connection → the client id of its last call."""
        self._asked: dict[str, list[Entry]] = defaultdict(list)
        """Transaction id → the questions to gRPC producers."""
        self._at: dict[Place, Record] = {}
        self._first_of: dict[str, Record] = {}
        """Message id → the first record with this id; retries keep the id."""

    def read(self) -> None:
        """Read the new entries.

        Read all entries again in two cases: 1. the journal was cleared; 2. the journal has dropped
        more than half of the entries that this index holds, so that the index would only grow.
        """
        while self._read_some():
            pass

    def reading(self) -> Steps[None]:
        """Do the same in steps: a `read` soon after has little left to read."""
        while self._read_some():
            yield

    def _read_some(self) -> bool:
        """Read some of the new entries; return whether there are more."""
        journal = self._journal
        if not self._read.seq or len(self.appended) > 2 * max(len(journal), 1):
            self._begin_anew()
            self._read.seq = 0
        last_seq = journal.last_seq
        if self._read.seq == last_seq:
            return False
        entries = journal.after(self._read.seq, _ENTRIES_A_STEP)
        for entry in entries:
            reader = self._readers.get(type(entry.event))
            if reader is not None:
                reader(entry)
        self._read.seq = entries[-1].seq if entries else last_seq
        return self._read.seq != last_seq

    def client(self, node: str, peer: str) -> str:
        """Return the id that a client at an address sent in its heartbeats; "" without one.

        A gRPC client has it in each call, and brokers see the address of its connection.
        """
        return self._clients.get((node, peer)) or self._grpc_clients.get(peer, "")

    def requester(self, entry: Entry) -> str:
        """Return which client sent the request that caused an entry: its id, or its address; "" if
        there is none."""
        request = self.requests.get(entry.cause)
        peer = "" if request is None else getattr(request.event, "peer", "")
        return self.client(entry.event.node, peer) or peer

    def is_grpc(self, peer: str) -> bool:
        """Return whether an address is that of a gRPC connection."""
        return peer in self._grpc_clients

    def asked(self, checked: Entry) -> str:
        """Return the id of the gRPC producer that was asked at a check; "" if there was none."""
        event = checked.event
        assert isinstance(event, TransactionChecked)
        for entry in self._asked.get(event.msg_id, ()):
            if entry.at_ms == checked.at_ms and isinstance(entry.event, OrphanAsked):
                return entry.event.client_id
        return ""

    def skew_ms(self, node: str, seq: int) -> int:
        """Return how far a node's clock was ahead of the cluster's at entry ``seq``."""
        skews = (one.event for one in self._walls if one.seq < seq and one.event.node == node)
        return next((one.skew_ms for one in reversed([*skews]) if isinstance(one, ClockSkewed)), 0)

    def wall_jump(self, node: str, since_seq: int, until_seq: int) -> Entry | None:
        """Return the last jump of a node's wall time, its own or the cluster's, in between."""
        for one in reversed(self._walls):
            own = one.event.node == node or isinstance(one.event, ClockMoved)
            if own and since_seq < one.seq < until_seq:
                return one
        return None

    def record_at(self, broker: str, topic: str, queue_id: int, offset: int) -> Record | None:
        """Return the record at a place of a queue; None if the journal does not show it."""
        return self._at.get((broker, topic, queue_id, offset))

    def further_places(self, record: Record) -> list[Place]:
        """Return the places of a record in queues that it names, if no other one is there now."""
        return [one for one in self._also.get(record, ()) if self._at.get(one) == record]

    def topic_of(self, record: Record | None, queue: str) -> str:
        """Return the topic of a record that is in a queue: the parent of a light queue's."""
        if not queue.startswith(LMQ_PREFIX) or record is None:
            return queue
        appended = self.appended.get(record)
        return getattr(appended and appended.event, "topic", queue)

    def dropped(self, place: Place, delivery: Entry) -> TagCollided | None:
        """Return why the client of a delivery drops the message; None if it does not."""
        group = getattr(delivery.event, "group", "")
        for entry in self.collided.get(place, ()):
            event = entry.event
            assert isinstance(event, TagCollided)
            if event.group == group and entry.cause == delivery.cause:
                return event
        return None

    def received(self, place: Place, group: str, until_seq: int | None = None) -> bool:
        """Return whether a group received a message, and did not drop it, before an entry."""
        return any(
            getattr(one.event, "group", "") == group
            and (until_seq is None or one.seq < until_seq)
            and self.dropped(place, one) is None
            for one in self.delivered.get(place, ())
        )

    def filter_that_passed(self, place: Place, group: str, since_seq: int) -> PassedOver | None:
        """Return the read that went past a message that its group's filter does not match."""
        broker, topic, queue_id, offset = place
        risings = self.passed_over.get((broker, topic, queue_id), {}).get(group, ())
        for rising in reversed(risings):
            entry = rising.past(offset)
            if entry is not None and entry.seq > since_seq:
                event = entry.event
                assert isinstance(event, PassedOver)
                if event.queue_offset <= offset and not self._has(place, group, entry.cause):
                    return event
        return None

    def _has(self, place: Place, group: str, cause: int) -> bool:
        """Return whether the answer to a group that has this cause has a message."""
        return any(
            one.cause == cause and getattr(one.event, "group", "") == group
            for one in (*self.delivered.get(place, ()), *self.withheld.get(place, ()))
        )

    def ended_before(self, rollback: Entry) -> str:
        """Return what had become of a half message before its rollback; "" if it was open."""
        event = rollback.event
        assert isinstance(event, TransactionEnded)
        half = self._half(event, event.half_offset)
        for _, entry in () if half is None else self.made.get(half, ()):
            if entry.seq < rollback.seq and isinstance(entry.event, TransactionEnded):
                return "it had been committed"
            if entry.seq < rollback.seq and isinstance(entry.event, TransactionChecked):
                return "a check had stored it again, and asks about that record"
        return ""

    def sent_to(self, record: Record) -> str:
        """Return the topic for which a record was sent, if its broker stored it in another one of
        its own; "" if the journal does not know."""
        appended = self.appended.get(record)
        if appended is None or not appended.cause:
            return ""
        for entry in self._journal.after(appended.cause, _CHECKED_WITHIN):
            if entry.cause == appended.cause and isinstance(entry.event, MessageChecked):
                return entry.event.topic
        return ""

    def receivers(self, place: Place, deliveries: Iterable[Entry]) -> Counter[str]:
        """Return how often each group received a message that its client did not drop."""
        return Counter(
            entry.event.group
            for entry in deliveries
            if isinstance(entry.event, Delivered) and self.dropped(place, entry) is None
        )

    def stored(self, msg_id: str) -> Entry | None:
        """Return what appended the first message with an id, be it gone since; None if unknown."""
        record = self._first_of.get(msg_id)
        present = None if record is None else self.appended.get(record)
        for entry in (*filter(None, (present,)), *self.roles.overwritten):
            if getattr(entry.event, "msg_id", "") == msg_id:
                return entry
        return None

    def deletion(self, record: Record) -> Entry | None:
        """Return the entry that deleted a record's topic since it was stored; None if none did."""
        appended = self.appended.get(record)
        deleted = self.deleted.get((record[0], getattr(appended and appended.event, "topic", "")))
        return deleted if appended and deleted and appended.seq < deleted.seq else None

    def forgotten(self, record: Record) -> bool:
        """Return whether the journal does not have the append of a record."""
        return record not in self.appended

    # -- readers ------------------------------------------------------------------------------

    def _record(self, event: Event, phy_offset: int) -> Record:
        return self.broker_names.get(event.node, event.node), phy_offset

    def _half(self, event: Event, half_offset: int) -> Record | None:
        """Return the record of a half message by its offset in the half topic's only queue."""
        broker = self.broker_names.get(event.node, event.node)
        return self._at.get((broker, TRANS_HALF_TOPIC, 0, half_offset))

    def _link(self, source: Record | None, target: Record, entry: Entry) -> None:
        """Note that ``target`` was made from ``source``; None if the source is unknown."""
        if source is None:
            self.news[target].append(entry)
        elif source != target:
            self.made[source].append((target, entry))
            self.made_from[target] = (source, entry)

    def _appended(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, LogAppended)
        record = self._record(event, event.phy_offset)
        place = record[0], event.topic, event.queue_id, event.queue_offset
        if record in self.appended:
            before = self.appended[record]
            if self.roles.has_controllers and before.event.node != event.node:
                self.roles.overwritten.append(before)
            self._forget_record(record)
        self._forget_place(place)
        self.appended[record] = entry
        if self.roles.has_controllers and entry.cause in self.requests:
            self._unanswered[entry.cause].append((record, entry))
        self._at[place] = record
        if event.msg_id:
            self._first_of.setdefault(event.msg_id, record)

    def _also_queued(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, AlsoQueued)
        record = self._record(event, event.phy_offset)
        if record in self._also:
            return  # a slave has it, too, or it was dispatched again
        self.news[record].append(entry)
        for topic, queue_id, offset in event.places:
            place = record[0], topic, queue_id, offset
            self._forget_place(place)
            self._also[record].append(place)
            self._at[place] = record
            if topic.startswith(LMQ_PREFIX):
                self._in_light[record[0], topic].append(record)

    def _lite_topic_expired(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, LiteTopicExpired)
        broker = self.broker_names.get(event.node, event.node)
        for record in self._in_light.pop((broker, event.queue), ()):
            self.news[record].append(entry)

    def _forget_place(self, place: Place) -> None:
        """Forget what happened to the record that was at a place before."""
        self.delivered.pop(place, None)
        self.withheld.pop(place, None)
        self.collided.pop(place, None)
        self.pops.forget(place)

    def copies(self, entry: Entry) -> tuple[int, int]:
        """Return how many replicas had a record when its producer was answered, and of how many.

        ``entry`` stored it. Without controllers, or without an answer, it is (0, 0).
        """
        return self._copies.get(entry.seq, (0, 0))

    def _copies_now(self, record: Record, entry: Entry) -> tuple[int, int]:
        """Return the same of now: a log that is cut later had the record nevertheless."""
        nodes = [one for one, name in self.broker_names.items() if name == record[0]]
        others = [self.replicated[one].past(record[1]) for one in nodes if one in self.replicated]
        having = [one for one in others if one is not None and entry.seq < one.seq]
        return 1 + len(having), len(nodes)

    def _forget_record(self, record: Record) -> None:
        """Forget a record that a crash removed; a new record has its offset now."""
        self.news.pop(record, None)
        self._also.pop(record, None)
        self.made.pop(record, None)
        source = self.made_from.pop(record, None)
        if source is not None:
            self.made[source[0]] = [one for one in self.made[source[0]] if one[0] != record]

    def _wall_moved(self, entry: Entry) -> None:
        event = entry.event
        if isinstance(event, ClockSkewed) or getattr(event, "how", "") == "jump":
            self._walls.append(entry)

    def _dispatched(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, Dispatched)
        self.news[self._record(event, event.phy_offset)].append(entry)

    def _scheduled(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, Scheduled)
        record = self._record(event, event.phy_offset)
        self.news[record].append(entry)
        request = self.requests.get(entry.cause)
        sent_back = request is not None and _code(request) == RequestCode.CONSUMER_SEND_MSG_BACK
        if event.topic.startswith(RETRY_PREFIX) and not sent_back:
            self._perhaps_sent_again(record, event.msg_id, entry)

    def _perhaps_sent_again(self, record: Record, msg_id: str, entry: Entry) -> None:
        """Link a retry that a client sent itself, as it does if it cannot send a message back.

        Such a retry keeps the message's id, which finds its first record.
        """
        first = self._first_of.get(msg_id)
        if first is not None and first != record and record not in self.made_from:
            self._link(first, record, entry)

    def _made(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(
            event, ScheduledDelivered | SentBack | Revived | TimerDelivered | TimerRolled
        )
        # Of a message of another broker, a revival knows the id alone.
        source = (
            self._record(event, event.from_phy_offset)
            if event.from_phy_offset >= 0
            else self._first_of.get(event.msg_id)
        )
        self._link(source, self._record(event, event.phy_offset), entry)

    def _escaped(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, Escaped)
        if event.phy_offset >= 0:
            target = event.broker_name, event.phy_offset
            self._link(self._first_of.get(event.msg_id), target, entry)

    def _dead_lettered(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, DeadLettered)
        record = self._record(event, event.phy_offset)
        if event.from_phy_offset is not None:
            self._link(self._record(event, event.from_phy_offset), record, entry)
        else:
            self._link(self._first_of.get(event.msg_id), record, entry)

    def _record_news(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, ScheduledDiscarded | TimerSet | TimerRecalled | TimerDiscarded)
        self.news[self._record(event, event.phy_offset)].append(entry)

    def _half_stored(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, HalfStored)
        self.news[self._record(event, event.phy_offset)].append(entry)

    def _half_news(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, TransactionEnded | TransactionDiscarded)
        half = self._half(event, event.half_offset)
        if half is not None:
            self.news[half].append(entry)

    def _checked(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, TransactionChecked)
        again = self._half(event, event.half_offset)
        if again is not None:
            self._link(self._half(event, event.from_half_offset), again, entry)

    def _ended(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, TransactionEnded)
        if event.phy_offset is None:
            self._half_news(entry)
            return
        half = self._half(event, event.half_offset)
        self._link(half, self._record(event, event.phy_offset), entry)

    def _delivered(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, Delivered)
        self._answered(event, entry, self.delivered)
        self._last_delivered = entry

    def _popped(self, entry: Entry) -> None:
        if self._last_delivered is not None:  # a pop has written it just before
            self.pops.of_delivery[self._last_delivered.seq] = entry

    def _changes_lost(self, entry: Entry) -> None:
        assert isinstance(entry.event, ChangesLost)
        if entry.event.file == ORDERS:
            self.pops.lost.append(entry)

    def _pop_news(self, entry: Entry) -> None:
        node = entry.event.node
        self.pops.add(self.broker_names.get(node, node), entry)

    def _revived(self, entry: Entry) -> None:
        self._pop_news(entry)
        self._made(entry)

    def _withheld(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, AnswerWithheld)
        self._answered(event, entry, self.withheld)

    def _answered(
        self, event: Delivered | AnswerWithheld, entry: Entry, found: dict[Place, list[Entry]]
    ) -> None:
        self.pulling[event.topic][event.group] = None
        broker = self.broker_names.get(event.node, event.node)
        for offset in event.offsets:
            found[broker, event.topic, event.queue_id, offset].append(entry)

    def _pull_held(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, PullHeld)
        self.pulling[event.topic][event.group] = None

    def _committed(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, OffsetCommitted)
        queue = self.broker_names.get(event.node, event.node), event.topic, event.queue_id
        self._last_commits[event.node][event.topic, event.queue_id, event.group] = event.offset
        risings = self.commits[queue].setdefault(event.group, [Rising()])
        if event.offset < risings[-1].end_offset:
            risings.append(Rising())
        risings[-1].put(event.offset, entry)

    def _commit_ignored(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, CommitIgnored)
        queue = self.broker_names.get(event.node, event.node), event.topic, event.queue_id
        risings = self.ignored[queue].setdefault(event.group, [Rising()])
        if event.kept < risings[-1].end_offset and event.offset < risings[-1].end_offset:
            risings.append(Rising())
        risings[-1].put(event.offset, entry)

    def _went_back(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, OffsetWentBack)
        self._last_commits[event.node][event.topic, event.queue_id, event.group] = event.offset
        self._back_at(
            Back(
                *(entry, event.group, event.topic, event.queue_id),
                *(event.offset, event.before, event.why),
            )
        )

    def _node_started(self, entry: Entry) -> None:
        """Find the offsets that slaves have, and a master that was away does not."""
        self._node_changed(entry)
        node = entry.event.node
        if node in self.replicated:
            return  # a slave takes over what its master has
        name, has = self.broker_names.get(node, node), self._last_commits[node]
        for slave in self.replicated:
            if self.broker_names.get(slave, slave) != name:
                continue
            for (topic, queue_id, group), before in self._last_commits[slave].items():
                offset = has.get((topic, queue_id, group), -1)
                if offset < before:
                    self._back_at(Back(entry, group, topic, queue_id, offset, before, "restart"))

    def _reset(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, OffsetReset)
        broker = self.broker_names.get(event.node, event.node)
        record = self.record_at(broker, event.topic, event.queue_id, event.offset)
        self.resets.add(entry, None if record is None else self.appended.get(record))

    def _node_changed(self, entry: Entry) -> None:
        if entry.event.node in self.broker_names:
            self.node_changes.append(entry.seq)

    def _reply_failed(self, entry: Entry) -> None:
        assert isinstance(entry.event, ReplyFailed)
        self.failed_replies[entry.event.correlation_id].append(entry)

    def _back_at(self, back: Back) -> None:
        node = back.entry.event.node
        queue = self.broker_names.get(node, node), back.topic, back.queue_id
        risings = self.commits[queue].setdefault(back.group, [Rising()])
        offset = max(back.offset, 0)  # a group without an offset reads from the beginning
        if offset < min(back.before, risings[-1].end_offset):
            risings.append(Rising(back.why))
            risings[-1].put(offset, back.entry)
            self.back.append(back)

    def _passed_over(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, PassedOver)
        self.pulling[event.topic][event.group] = None
        queue = self.broker_names.get(event.node, event.node), event.topic, event.queue_id
        risings = self.passed_over[queue].setdefault(event.group, [Rising()])
        if event.queue_offset < risings[-1].end_offset:
            risings.append(Rising())
        risings[-1].put(event.next_offset, entry)

    def _collided(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, TagCollided)
        broker = self.broker_names.get(event.node, event.node)
        self.collided[broker, event.topic, event.queue_id, event.queue_offset].append(entry)

    def _replicated(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, Replicated)
        self.replicated[event.node].put(event.end_offset, entry)

    def _truncated(self, entry: Entry) -> None:
        """A slave gets other bytes from there on."""
        event = entry.event
        assert isinstance(event, LogTruncated)
        self.roles.truncated(entry)
        if event.node in self.replicated:
            self.replicated[event.node].cut(event.phy_offset)

    def _route_refused(self, entry: Entry) -> None:
        assert isinstance(entry.event, RouteRefused)
        self.refused_routes[entry.event.topic].append(entry)

    def _topic_changed(self, entry: Entry) -> None:
        assert isinstance(entry.event, TopicChanged)
        self.topic_changes[entry.event.topic].append(entry.seq)
        if entry.event.how == "created":
            self.created.setdefault(entry.event.topic, entry)
        elif entry.event.how == "deleted":
            node = entry.event.node
            self.deleted[self.broker_names.get(node, node), entry.event.topic] = entry

    def _subscriptions_differ(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, SubscriptionsDiffer)
        pair = event.client_id, event.other_client_id
        self.differing[event.group, event.topic][pair] = event

    def _difference_ended(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, DifferenceEnded)
        pair = event.client_id, event.other_client_id
        self.differing[event.group, event.topic].pop(pair, None)

    def _received(self, entry: Entry) -> None:
        assert isinstance(entry.event, RequestReceived)
        self.requests[entry.seq] = entry
        self.twins.requested(entry, entry.event)

    def _rpc_received(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, RpcReceived)
        if event.client_id:
            self._grpc_clients[event.peer] = event.client_id
            self.twins.called(event)

    def _renewed(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, HandleRenewed)
        self.pops.renewed[event.group, event.queue_id, event.queue_offset].append(entry)

    def _orphan_asked(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, OrphanAsked)
        self._asked[event.transaction_id].append(entry)

    def _handled(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, RequestHandled)
        if entry.cause in self.requests:
            self.answers.setdefault(entry.cause, event.response_code)
            for record, stored in self._unanswered.pop(entry.cause, ()):
                self._copies[stored.seq] = self._copies_now(record, stored)

    def _member_changed(self, entry: Entry) -> None:
        event = entry.event
        assert isinstance(event, MemberChanged)
        self._clients[event.node, event.peer] = event.client_id
        self.twins.changed(entry, event)
        if event.kind == "consumer" and event.how == "registered":
            self.joined.setdefault(event.group, entry)
            self.refusals.joined(event.group)
        if event.kind == "producer":
            self.producers.add((event.node, event.group))
