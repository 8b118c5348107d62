"""The journal: order, search, listeners, and its lines."""

# Over 400 lines: each way to add entries is compared with plain ones, in one machine.

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.clock.clock import Clock
from fakemq.errors import FakemqError
from fakemq.events import (
    Dispatched,
    Event,
    HandlerFailed,
    LinkClosed,
    LogAppended,
    MessageChecked,
    NodeStarted,
    OffsetCommitted,
    RequestReceived,
    Warned,
)
from fakemq.journal.entries import Entry
from fakemq.journal.file import JournalFile
from fakemq.journal.journal import TEXT_MAX_CHARS, Cause, Journal, line, log
from fakemq.journal.noted import (
    APPENDED,
    CHECKED,
    DISPATCHED,
    RECEIVED,
    STORED,
    Noted,
    event_of,
)
from fakemq.protocol.layout.codecs import CONSUME_QUEUE_UNIT as UNIT

START_MS = 1_709_208_000_000  # 2024-02-29T12:00:00Z


@pytest.fixture
def clock() -> Clock:
    return Clock(frozen=True, start_at_ms=START_MS)


@pytest.fixture
def journal(clock: Clock) -> Journal:
    return Journal(clock)


def started(node: str = "broker-a-0") -> NodeStarted:
    return NodeStarted(node=node, addr="127.0.0.1:1")


def test_entries_have_a_number_and_the_clusters_time(journal: Journal, clock: Clock) -> None:
    journal.add(started())
    clock.advance("1s")
    journal.add(started())
    assert [(entry.seq, entry.at_ms) for entry in journal] == [(1, START_MS), (2, START_MS + 1000)]


@pytest.mark.parametrize("listens", [False, True])
def test_events_added_together_are_entries_as_of_single_ones(
    journal: Journal, listens: bool
) -> None:
    notified: list[int] = []
    if listens:
        journal.listen(lambda entry: notified.append(entry.seq), Dispatched)
    events: list[Noted] = [(DISPATCHED, "a", "orders", 0, n, 100 * n) for n in range(3)]
    cause = journal.add(started())
    with journal.because(cause):
        journal.note_all(events)
        journal.note_all([])
    assert [one.phy_offset for one in journal.find(Dispatched, topic="orders")] == [0, 100, 200]
    assert [(one.seq, one.cause, one.at_ms) for one in journal][1:] == [
        (seq, cause, START_MS) for seq in (2, 3, 4)
    ]
    assert notified == ([2, 3, 4] if listens else [])


def test_find_returns_events_of_a_kind(journal: Journal) -> None:
    journal.add(started("a"))
    journal.add(LinkClosed(node="a", peer="x", why="gone"))
    journal.add(started("b"))
    assert [one.node for one in journal.find(NodeStarted)] == ["a", "b"]
    assert [one.node for one in journal.find(NodeStarted, node="b")] == ["b"]
    assert journal.find(NodeStarted, node="c") == []
    assert len(journal.find(Event)) == 3


def test_long_texts_of_peers_are_cut(journal: Journal) -> None:
    long = "x" * 1_000_000
    journal.add(OffsetCommitted(node="a", group=long, topic=long, queue_id=1, offset=2))
    journal.add(
        LogAppended(
            node="a",
            topic="orders",
            queue_id=0,
            queue_offset=0,
            phy_offset=0,
            size_bytes=100,
            msg_id=long,
        )
    )
    journal.add(Warned(node="a", text=long))
    (committed,), (appended,) = journal.find(OffsetCommitted), journal.find(LogAppended)
    for text in (
        *(committed.group, committed.topic, appended.msg_id),
        journal.find(Warned)[0].text,
    ):
        assert text.endswith("x… of 1000000 characters")
        assert len(text) < TEXT_MAX_CHARS
    assert (committed.queue_id, committed.offset, appended.topic) == (1, 2, "orders")


def test_short_texts_are_unchanged(journal: Journal) -> None:
    text = "x" * TEXT_MAX_CHARS
    journal.add(Warned(node="a", text=text))
    assert journal.find(Warned)[0].text == text


def test_oldest_entries_are_dropped_at_the_limit(clock: Clock) -> None:
    journal = Journal(clock, capacity=3)
    for _ in range(5):
        journal.add(started())
    assert [entry.seq for entry in journal] == [3, 4, 5]
    assert [entry.seq for entry in journal.tail(2)] == [4, 5]
    assert len(journal) == 3
    assert repr(journal) == "<journal of 3 entries, last seq 5>"


def test_cleared_journal_numbers_from_the_start(journal: Journal) -> None:
    journal.add(started())
    journal.clear()
    assert len(journal) == 0
    journal.add(started())
    assert [entry.seq for entry in journal] == [1]


def test_listener_is_called_until_removed(journal: Journal) -> None:
    received: list[int] = []
    unlisten = journal.listen(lambda entry: received.append(entry.seq))
    journal.add(started())
    journal.add(started())
    unlisten()
    journal.add(started())
    assert received == [1, 2]


def test_listener_to_some_kinds_is_not_called_for_others(journal: Journal) -> None:
    received: list[Event] = []
    journal.add(Warned(node="a", text="before"))
    unlisten = journal.listen(lambda entry: received.append(entry.event), Warned, LinkClosed)
    closed, warned = LinkClosed(node="a", peer="x", why="gone"), Warned(node="a", text="full")
    for event in (started(), closed, warned):
        journal.add(event)
    unlisten()
    journal.add(Warned(node="a", text="after"))
    assert received == [closed, warned]


def test_iteration_tolerates_new_entries(journal: Journal) -> None:
    journal.add(started())
    for _ in journal:
        journal.add(started())
    assert len(journal) == 2


def test_entry_is_printed_as_a_line(journal: Journal) -> None:
    journal.add(RequestReceived(node="broker-a-0", code=310, peer="h:1", opaque=7))
    (entry,) = journal
    assert line(entry) == (
        "     1 12:00:00.000 RequestReceived  broker-a-0 code=SEND_MESSAGE_V2 peer='h:1' opaque=7"
    )


def test_events_for_users_are_logged(journal: Journal, caplog: pytest.LogCaptureFixture) -> None:
    journal.listen(log)
    journal.add(started())
    journal.add(Warned(node="broker-a-0", text="nearly full"))
    journal.add(HandlerFailed(node="broker-a-0", code=310, error="E", traceback="the traceback"))
    journal.add(HandlerFailed(node="cluster", code=None, error="E", traceback="the traceback"))
    assert [(one.levelno, one.getMessage()) for one in caplog.records] == [
        (logging.WARNING, "broker-a-0: nearly full"),
        (
            logging.ERROR,
            "broker-a-0: a bug in fakemq while answering SEND_MESSAGE_V2\nthe traceback",
        ),
        (logging.ERROR, "cluster: a bug in fakemq\nthe traceback"),
    ]


def test_line_breaks_of_peers_are_escaped(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    journal.listen(log)
    journal.add(Warned(node="broker-a-0", text="key é\nfakemq ready: \x1b[2J\u2028"))
    (record,) = caplog.records
    assert record.getMessage() == r"broker-a-0: key é\nfakemq ready: \x1b[2J\u2028"


def test_journal_is_written_to_a_file(journal: Journal, tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    file = JournalFile(str(path))
    journal.listen(file)
    journal.add(started())
    journal.add(Warned(node="broker-a-0", text="nearly full"))
    lines = [msgspec.json.decode(text) for text in path.read_bytes().splitlines()]
    assert [one["seq"] for one in lines] == [1, 2]
    assert (lines[0]["kind"], lines[0]["fields"]) == ("NodeStarted", {"addr": "127.0.0.1:1"})
    file.close()
    with pytest.raises(FakemqError, match=r"no/such/j: cannot write the journal: No such file"):
        JournalFile(str(tmp_path / "no" / "such" / "j"))


def test_noted_events_are_entries_for_every_reader() -> None:
    clock = Clock(frozen=True, start_at_ms=1_000)
    journal, plain = Journal(clock), Journal(clock)
    listened: list[Entry] = []
    for moment in range(3):
        clock.hold_moment()
        received = RequestReceived(node="a", code=310, peer="p", opaque=moment)
        checked = MessageChecked(node="a", topic="orders", queue_id=moment)
        plain.cause = plain.add(received)
        journal.begin((RECEIVED, "a", 310, "p", moment))
        assert journal.cause == plain.cause
        journal.note((CHECKED, "a", "orders", moment))
        plain.add(checked)
        plain.cause = 0
        journal.end(0)
        clock.release_moment()
        clock.advance_ms(10)
    assert journal.last_seq == plain.last_seq == 6
    assert len(journal) == len(plain)
    assert list(journal) == list(plain)
    assert journal.find(MessageChecked, queue_id=1) == plain.find(MessageChecked, queue_id=1)
    assert [journal.at(seq) for seq in range(8)] == [plain.at(seq) for seq in range(8)]
    assert journal.tail(2) == plain.tail(2)
    assert journal.after(3) == plain.after(3)
    journal.listen(listened.append, MessageChecked)
    clock.hold_moment()
    journal.note((CHECKED, "a", "orders", 9))
    assert [one.seq for one in listened] == [7]
    journal.clear()
    assert list(journal) == []


def test_chain_of_causes_ends_where_a_cause_is_of_before_a_clear() -> None:
    journal = Journal(Clock(frozen=True))
    with journal.because(journal.add(started())):
        with journal.because(1):
            journal.clear()
        journal.add(started())
    (entry,) = journal
    assert (entry.seq, entry.cause) == (1, 1)
    assert journal.cause_chain(entry) == []


class Pair:
    """A journal, and one in which each event is added by itself; both get the same calls."""

    def __init__(self) -> None:
        self.clock = Clock(frozen=True, start_at_ms=1_000)
        self.journal, self.plain = Journal(self.clock, capacity=9), Journal(self.clock, capacity=9)
        self.before: list[tuple[Cause, Cause]] = []
        self.notified: tuple[list[Entry], list[Entry]] = [], []
        self.unlisten: list[Callable[[], None]] = []
        self.number = 0

    def noted(self, count: int) -> list[Noted]:
        self.number += count
        return [(CHECKED, "a", "orders", self.number - at) for at in range(count)]

    def begin(self, _: int) -> None:
        self.number += 1
        arrival: Noted = (RECEIVED, "a", 310, "p", self.number)
        self.before.append((self.journal.cause, self.plain.cause))
        self.journal.begin(arrival)
        self.plain.cause = self.plain.add(event_of(arrival))

    def because(self, count: int) -> None:
        """A block that began within the last one, if there is one."""
        self.before.append((self.journal.cause, self.plain.cause))
        self.journal.cause = self.plain.cause = min(count, self.plain.last_seq)

    def end(self, _: int) -> None:
        if self.before:
            before, self.plain.cause = self.before.pop()
            self.journal.end(before)

    def note(self, _: int) -> None:
        (event,) = self.noted(1)
        self.journal.note(event)
        self.plain.add(event_of(event))

    def note_all(self, count: int) -> None:
        events = self.noted(count)
        self.journal.note_all(events)
        for event in events:
            self.plain.add(event_of(event))

    def note_stored(self, count: int) -> None:
        count += 1
        self.number += count
        units = b"".join(UNIT.pack(100 * n, 7, n) for n in range(count))
        properties = "TAGS\x01A\x02KEYS\x01k {n}\x02UNIQ_KEY\x01U{n}"
        names = tuple("U" if n % 2 else properties.format(n=n).encode() for n in range(count))
        self.journal.note_stored((STORED, "a", "orders", 0, self.number, units, names), 2 * count)
        for n in range(count):
            place: tuple[str, int, int, int] = ("orders", 0, self.number + n, 100 * n)
            named = ("U", "") if n % 2 else (f"U{n}", f"k {n}")
            self.plain.add(event_of((APPENDED, "a", *place, 7, *named)))
            self.plain.add(event_of((DISPATCHED, "a", *place)))

    def add(self, _: int) -> None:
        for journal in (self.journal, self.plain):
            journal.add(started())

    def fire(self, count: int) -> None:
        self.journal.fire("a", "idle", lambda: self.journal.note_all(self.noted(count)))
        self.number -= count
        self.plain.fire("a", "idle", lambda: self.note_plain(count))

    def note_plain(self, count: int) -> None:
        for event in self.noted(count):
            self.plain.add(event_of(event))

    def request_of_timer(self, _: int) -> None:
        arrival: Noted = (RECEIVED, "a", 11, "p", 0)

        def request() -> None:
            before = self.journal.cause
            self.journal.begin(arrival)
            self.journal.end(before)

        def request_of_plain() -> None:
            self.plain.add(event_of(arrival))

        self.journal.fire("a", "idle", request)
        self.plain.fire("a", "idle", request_of_plain)

    def listen(self, _: int) -> None:
        if self.unlisten:
            for unlisten in self.unlisten:
                unlisten()
            self.unlisten = []
        else:
            pairs = zip((self.journal, self.plain), self.notified, strict=True)
            self.unlisten = [one.listen(notified.append, MessageChecked) for one, notified in pairs]

    def clear(self, _: int) -> None:
        for journal in (self.journal, self.plain):
            journal.clear()

    def move(self, count: int) -> None:
        if not self.before:
            self.clock.advance_ms(count)

    def hold(self, _: int) -> None:
        self.clock.hold_moment()

    def read(self, count: int) -> None:
        """Look at one thing, which must not be changed by another look before it."""
        looks: tuple[Callable[[Journal], object], ...] = (
            list,
            len,
            repr,
            lambda one: one.first_seq,
            lambda one: one.last_seq,
            lambda one: one.at(self.number),
            lambda one: one.after(one.first_seq),
            lambda one: one.tail(3),
            lambda one: one.find(MessageChecked),
            lambda one: [one.cause_chain(entry) for entry in one],
        )
        look = looks[count % len(looks)]
        assert look(self.journal) == look(self.plain)


_STEPS = (
    *(Pair.begin, Pair.begin, Pair.note, Pair.note, Pair.note_all, Pair.end, Pair.end),
    *(
        Pair.note_stored,
        Pair.add,
        Pair.because,
        Pair.fire,
        Pair.request_of_timer,
        Pair.listen,
        Pair.clear,
    ),
    *(Pair.move, Pair.hold, Pair.read),
)


@given(st.lists(st.tuples(st.sampled_from(_STEPS), st.integers(0, 9)), max_size=40))
@settings(deadline=None)
def test_events_of_requests_are_entries_as_if_each_were_added_by_itself(
    steps: list[tuple[Callable[[Pair, int], None], int]],
) -> None:
    pair = Pair()
    for step, count in steps:
        step(pair, count)
    for look in range(10):
        pair.read(look)
    assert pair.notified[0] == pair.notified[1]


def test_oldest_noted_events_leave_a_full_journal() -> None:
    clock = Clock(frozen=True)
    journal = Journal(clock, capacity=5)
    clock.hold_moment()
    for number in range(4):
        journal.note((RECEIVED, "a", 310, "p", number))
    journal.add(Warned(node="a", text="between"))
    for number in range(3):
        journal.note((RECEIVED, "a", 310, "p", 4 + number))
    opaques = [getattr(entry.event, "opaque", None) for entry in journal]
    assert opaques == [3, None, 4, 5, 6]
    assert [entry.seq for entry in journal] == [4, 5, 6, 7, 8]
