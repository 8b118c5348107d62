"""Transactions in many orders: visible as often as committed, asked while undecided, discarded.

Producers come and go, the broker is killed and started; a producer may answer at once, later,
or never.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fakemq.config.model import BrokerConfig
from fakemq.events import HalfStored, TransactionChecked, TransactionDiscarded
from fakemq.protocol.codes import RequestCode
from tests.support.broker_lab import BrokerLab
from tests.support.clients import beat
from tests.support.peer import Peer
from tests.support.transactions import (
    COMMIT,
    PRODUCERS,
    ROLLBACK,
    UNKNOWN,
    Half,
    asked,
    discarded,
    end_header,
    halves,
    send_half,
    stored,
)

CHECK_MAX = 3
TIME_OUT_MS = 6_000
BEAT_MS = 50_000
"""How long a producer may be silent and still be one."""


class _Transaction:
    """What the machine knows of one half message."""

    def __init__(self, key: str, place: Half, immunity_ms: int, at_ms: int) -> None:
        self.key = key
        self.known = place
        """Where producers think it is: where it was sent, or where they were asked about it."""
        self.immunity_ms = immunity_ms
        self.sent_at_ms = at_ms
        self.commits = 0
        self.over_at: int | None = None
        """The place at which it ended, which was the one it had."""


class Transactions(RuleBasedStateMachine):
    """One broker, its half messages, and the producers of one group."""

    def __init__(self) -> None:
        super().__init__()
        self.lab = BrokerLab()
        self.broker = self.lab.broker(BrokerConfig(transaction_check_max=CHECK_MAX))
        self.producers: list[Peer] = []
        self.transactions: dict[str, _Transaction] = {}
        self.join()

    # -- what happens -------------------------------------------------------------------------

    @rule(seconds=st.sampled_from(["", "", "0", "20", "100", "1000"]))
    def send(self, seconds: str) -> None:
        peer = self.lab.peer(self.broker.addr, "sender")
        key = f"K{len(self.transactions)}"
        more = f"CHECK_IMMUNITY_TIME_IN_SECONDS={seconds}" if seconds else ""
        place = send_half(peer, key, more=more)
        immunity_ms = int(seconds) * 1000 if seconds else TIME_OUT_MS
        now_ms = self.lab.clock.now_ms()
        self.transactions[key] = _Transaction(key, place, immunity_ms, now_ms)
        peer.close()

    @precondition(lambda self: self.transactions)
    @rule(which=st.integers(0, 99), how=st.sampled_from([COMMIT, ROLLBACK, UNKNOWN]))
    def end(self, which: int, how: int) -> None:
        self._end(list(self.transactions.values())[which % len(self.transactions)], how)

    @rule(how=st.sampled_from([COMMIT, ROLLBACK, UNKNOWN]))
    def answer_checks(self, how: int) -> None:
        for producer in self.producers:
            for check in asked(producer):
                transaction = self.transactions[check.header.msg_id or ""]
                transaction.known = check.half
                self._end(transaction, how, from_transaction_check=True)

    @precondition(lambda self: len(self.producers) < 3)
    @rule()
    def join(self) -> None:
        name = f"producer-{len(self.lab.journal)}"
        self.producers.append(self.lab.peer(self.broker.addr, name))
        self._beat()

    @precondition(lambda self: self.producers)
    @rule(which=st.integers(0, 2))
    def leave(self, which: int) -> None:
        self.producers.pop(which % len(self.producers)).close()

    @rule()
    def kill_and_start(self) -> None:
        self.broker.kill()
        self.producers.clear()
        self.broker.start()

    @rule(ms=st.sampled_from([1, 5_999, 6_000, 20_000, 60_000, 61_000, 150_000]))
    def wait(self, ms: int) -> None:
        while ms > 0:
            self.lab.pass_time(min(ms, BEAT_MS))
            ms -= BEAT_MS
            self._beat()

    def _beat(self) -> None:
        for producer in self.producers:
            beat(producer, producer.name, producers=[PRODUCERS])

    def _end(self, transaction: _Transaction, how: int, **fields: bool) -> None:
        peer = self.lab.peer(self.broker.addr, "ender")
        peer.oneway(RequestCode.END_TRANSACTION, end_header(transaction.known, how, **fields))
        peer.close()
        transaction.commits += how == COMMIT
        if how != UNKNOWN and transaction.known.offset == self._place(transaction.key):
            transaction.over_at = transaction.known.offset

    def _place(self, key: str) -> int:
        return max(half.queue_offset for half in halves(self.broker) if half.msg_id == key)

    # -- what holds ---------------------------------------------------------------------------

    @invariant()
    def visible_as_often_as_committed(self) -> None:
        visible = [message.msg_id for message in stored(self.broker)]
        for transaction in self.transactions.values():
            assert visible.count(transaction.key) == transaction.commits

    @invariant()
    def checks_are_neither_early_nor_too_many_nor_late(self) -> None:
        asks: dict[str, int] = {}
        for entry in self.lab.journal:
            event = entry.event
            if isinstance(event, TransactionChecked):
                transaction = self.transactions[event.msg_id]
                assert entry.at_ms - transaction.sent_at_ms >= transaction.immunity_ms
                asks[event.msg_id] = asks.get(event.msg_id, 0) + 1
                assert asks[event.msg_id] <= event.times <= CHECK_MAX
        for key, transaction in self.transactions.items():
            if transaction.over_at is not None:
                # An ask at a new place would have taken it there.
                assert transaction.over_at == self._place(key)

    @invariant()
    def it_is_all_in_the_journal(self) -> None:
        assert len(self.lab.journal.find(HalfStored)) == len(self.transactions)
        assert len(self.lab.journal.find(TransactionDiscarded)) == len(discarded(self.broker))

    def teardown(self) -> None:
        try:
            self.all_undecided_are_discarded_once()
        finally:
            self.lab.free()

    def all_undecided_are_discarded_once(self) -> None:
        """Every undecided message is discarded, once, and what has ended is not."""
        dead = [message.msg_id for message in discarded(self.broker)]
        over = {
            key
            for key, one in self.transactions.items()
            if one.over_at is not None and key not in dead
        }
        for _ in range(CHECK_MAX + 2):
            self.wait(60_000)
        dead = [message.msg_id for message in discarded(self.broker)]
        assert sorted(dead) == sorted(self.transactions.keys() - over)
        self.checks_are_neither_early_nor_too_many_nor_late()


TestTransactions = Transactions.TestCase
# About two seconds: fewer runs miss a message that ended at a place it had left.
TestTransactions.settings = settings(deadline=None, max_examples=40, stateful_step_count=30)
