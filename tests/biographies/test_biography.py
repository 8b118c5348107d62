"""Biographies: what happened to a message, from the journal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import fakemq
from fakemq.biographies import steps
from fakemq.client import LocalTransactionState, Message
from fakemq.errors import FakemqError
from fakemq.events import Delivered, MessageChecked
from fakemq.faults.plan import Point, Scope
from fakemq.handles.values import Message as View
from fakemq.journal.entries import Entry
from fakemq.journal.journal import Journal
from tests.support.consumer import consuming, normalised

START = "2024-02-29T12:00:00Z"


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(
        clock="frozen", start_at=START, topics={"orders": 1}, slaves=1, role="SYNC_MASTER"
    ) as cluster:
        yield cluster


@pytest.fixture
def alone() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(clock="frozen", start_at=START, topics={"orders": 1}) as cluster:
        yield cluster


def lines(message: View) -> list[str]:
    return [line.strip() for line in normalised(str(message.biography)).splitlines()]


def test_biography_runs_from_the_store_to_the_dead_letters(mq: fakemq.Cluster) -> None:
    addr = mq.broker("broker-a").addr
    with consuming(mq) as client:
        client.send(Message("orders", b"hello"))
        (message,) = client.take("orders")
        client.send_back(addr, message)
        mq.clock.advance("10s")
        (retry,) = client.take("%RETRY%billing")
        client.send_back(addr, retry, max_retries=1)
    mq.clock.advance("1s")
    expected = [
        "ID b'hello' of orders",
        "12:00:00.000 stored in orders broker-a-0/0@0, sent by CLIENT (ADDR), answered SEND_OK",
        "12:00:00.000 dispatched at broker-a-0",
        "12:00:00.000 replicated to broker-a-1",
        "12:00:00.000 delivered 1st time to billing@CLIENT (ADDR)",
        "12:00:00.000 acked by billing: offset 1 committed by CLIENT",
        "12:00:00.000 sent back by billing: retry 1, delayed at level 3 until 12:00:10.000",
        "12:00:10.000 delay over, in %RETRY%billing broker-a-0/0@0 — after clock advanced 10s",
        "12:00:10.000 delivered 2nd time to billing@CLIENT (ADDR) — after clock advanced 10s",
        "12:00:10.000 acked by billing: offset 1 committed by CLIENT",
        "12:00:10.000 dead letter of billing after 1 retry",
    ]
    (origin,) = mq.messages("orders")
    assert lines(origin) == expected
    # From wherever one looks, it is the same life.
    for topic in ("%RETRY%billing", "%DLQ%billing"):
        (message_there,) = mq.messages(topic)
        assert message_there.biography == origin.biography


def test_steps_are_typed_and_immutable(alone: fakemq.Cluster) -> None:
    (message,) = alone.seed("orders", [b"one"])
    stored, dispatched = message.biography
    assert stored == steps.Stored(
        seq=stored.seq,
        at_ms=message.store_timestamp_ms,
        node="broker-a-0",
        topic="orders",
        queue_id=0,
        offset=0,
        phy_offset=0,
        sender="",
        answer="",
    )
    assert message.biography.of(steps.Dispatched) == [dispatched]
    assert message.biography[:1] == (stored,)
    with pytest.raises(AttributeError):
        stored.node = "elsewhere"  # type: ignore[misc]
    assert repr(message.biography).startswith("<biography of ")
    assert len({message.biography, message.biography}) == 1


def test_biography_of_a_delayed_message_shows_its_delay(alone: fakemq.Cluster) -> None:
    with consuming(alone) as client:
        client.send(Message("orders", b"later", properties={"DELAY": "5"}))
        (waiting,) = alone.delayed("orders")
        alone.clock.advance_to_next("delay_level")
        client.take("orders", commit=False)
    (message,) = alone.messages("orders")
    assert [line.replace("CLIENT (ADDR)", "PEER") for line in lines(message)[1:]] == [
        "12:00:00.000 stored in SCHEDULE_TOPIC_XXXX broker-a-0/4@0, sent by PEER, answered SEND_OK",
        "12:00:00.000 delayed for orders at level 5 until 12:01:00.000",
        "12:01:00.000 delay over, in orders broker-a-0/0@0 — after clock advanced 1m",
        "12:01:00.000 delivered 1st time to billing@PEER — after clock advanced 1m",
    ]
    assert waiting.message.biography == message.biography


def test_biography_names_the_clock_jump_when_a_delivery_is_early(alone: fakemq.Cluster) -> None:
    clock = alone.broker("broker-a").clock
    clock.skew("3m")
    with consuming(alone) as client:
        client.send(Message("orders", b"later", properties={"DELAY": "5"}))
        clock.skew("4m")
        alone.clock.advance("1s")
        assert client.take("orders", commit=False)
    (message,) = alone.messages("orders")
    behind = "after the clock of broker-a-0 was set 4m ahead, after clock advanced 1s"
    assert [line.replace("CLIENT (ADDR)", "PEER") for line in lines(message)[2:]] == [
        "12:00:00.000 delayed for orders at level 5 until 12:01:00.000",
        f"12:00:01.000 delay over, in orders broker-a-0/0@0 — {behind}",
        f"12:00:01.000 delivered 1st time to billing@PEER — {behind}",
    ]


def test_biography_of_a_transaction_shows_its_commit(alone: fakemq.Cluster) -> None:
    with consuming(alone, member=False) as client:
        client.send_half(Message("orders", b"half"))
    alone.clock.advance("61s")
    with consuming(alone, member=False) as client:
        client.listen_for_checks(lambda _: LocalTransactionState.COMMIT_MESSAGE)
        client.heartbeat()
        alone.clock.advance("60s")
        client.poll(timeout_ms=1000)
    (message,) = alone.wait_for(lambda: alone.messages("orders"))
    _, _, half, unasked, somebody, committed = lines(message)
    assert half == "12:00:00.000 half message for orders, not committed yet"
    assert unasked == (
        "12:01:00.000 checked 1st time, no producer of shop is connected"
        " — after clock advanced 1m 1s"
    )
    assert somebody == "12:02:00.000 checked 2nd time, asked ADDR — after clock advanced 1m"
    assert committed == "12:02:01.000 committed to orders when asked"


def test_biography_of_a_rolled_back_transaction_shows_its_end(alone: fakemq.Cluster) -> None:
    with consuming(alone, member=False) as client:
        half = client.send_half(Message("orders", b"half"))
        client.end_transaction(half, LocalTransactionState.ROLLBACK_MESSAGE)
        alone.wait_for(lambda: alone.journal.find("TransactionEnded"))
    (message,) = alone.messages("RMQ_SYS_TRANS_HALF_TOPIC")
    assert lines(message)[-1] == "12:00:00.000 rolled back"


def test_biography_shows_what_a_slave_lacks_and_why(mq: fakemq.Cluster) -> None:
    mq.broker("broker-a-1").pause()
    (message,) = mq.seed("orders", [b"one"])
    assert lines(message)[-1] == (
        "12:00:00.000 not replicated to broker-a-1 — broker-a-1 is paused"
    )
    mq.broker("broker-a-1").resume()
    assert lines(message)[-1] == (
        "12:00:00.000 replicated to broker-a-1 — after broker-a-1 resumed"
    )


def test_biography_names_the_fault_that_applied(alone: fakemq.Cluster) -> None:
    # As a fault at a request's point does: it hits while that is handled.
    journal = alone.inspect(lambda core: core.journal)
    placed = alone.inspect(
        lambda core: core.faults.place(Point("test"), None, "delay SEND_MESSAGE_V2", Scope())
    )

    def hit(entry: Entry) -> None:
        placed.hit("broker-a-0", "a send")

    unlisten = journal.listen(hit, MessageChecked)
    with consuming(alone) as client:
        client.send(Message("orders", b"hello"))
    unlisten()
    (message,) = alone.messages("orders")
    assert message.biography[0].because == "fault 1 delay SEND_MESSAGE_V2"


def test_biographies_of_several_brokers_are_kept_apart(alone: fakemq.Cluster) -> None:
    with fakemq.Cluster(masters=2, clock="frozen", topics={"orders": 1}) as mq:
        one, two = mq.seed("orders", [b"one", b"two"])
        assert [one.biography[0].node, two.biography[0].node] == ["broker-a-0", "broker-b-0"]


def test_biography_ends_at_a_reset(alone: fakemq.Cluster) -> None:
    (old,) = alone.seed("orders", [b"old"])
    alone.reset()
    (new,) = alone.seed("orders", [b"new"])
    assert lines(old)[1:] == [
        "12:00:00.000 the cluster was reset since: the journal begins after the message"
    ]
    assert "stored in orders" in lines(new)[1]


def test_biography_shows_a_restore(alone: fakemq.Cluster) -> None:
    alone.seed("orders", [b"one"])
    snapshot = alone.snapshot()
    alone.seed("orders", [b"two"])
    alone.restore(snapshot)
    (message,) = alone.messages("orders")
    assert lines(message)[1:] == ["12:00:00.000 it was stored before the journal begins"]


def test_biography_says_so_when_the_journal_has_forgotten(
    alone: fakemq.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = alone.inspect(lambda core: core)
    monkeypatch.setattr(core.journal, "_capacity", 4)
    (message,) = alone.seed("orders", [b"one"])
    alone.seed("orders", [b"two", b"three"])
    (text,) = lines(message)[1:]
    assert text.startswith("12:00:00.000 the journal has forgotten how it was stored: it begins")


def test_ten_thousand_biographies_read_the_journal_once(
    alone: fakemq.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = 0
    after = Journal.after

    def counted(self: Journal, seq: int, most: int | None = None) -> object:
        nonlocal read
        entries = after(self, seq, most)
        read += len(entries)
        return entries

    monkeypatch.setattr(Journal, "after", counted)
    alone.seed("orders", [b"x"] * 10_000)
    read = 0
    messages = alone.messages("orders")
    assert read == len(alone.journal), "for the deliveries, not once more for the biographies"
    read = 0
    assert sum(len(message.biography) for message in messages[::10]) == 2_000
    assert read == len(alone.journal)
    core = alone.inspect(lambda core: core)
    core.journal.add(
        Delivered(
            node="broker-a-0",
            topic="orders",
            queue_id=0,
            offsets=range(10_000),
            next_offset=10_000,
            group="billing",
            peer="x",
        )
    )
    assert messages[-1].biography.of(steps.Delivered)[0].times == 1
    assert read == len(alone.journal)


def test_copied_message_has_no_biography() -> None:
    message = View(
        topic="t", broker="b", queue_id=0, offset=0, body=b"", tags="", keys="", properties={},
        msg_id="x", offset_msg_id="x", born_timestamp_ms=0, store_timestamp_ms=0, born_host="",
        store_host="", sys_flag=0, reconsume_times=0, commit_log_offset=0,
    )  # fmt: skip
    with pytest.raises(FakemqError, match="no biography of <message x"):
        _ = message.biography


def test_biography_of_a_lost_message_has_no_steps_of_its_successor(tmp_path: Path) -> None:
    with fakemq.Cluster(
        store=tmp_path, clock="frozen", start_at=START, topics={"orders": 1}, seed=1
    ) as mq:
        with consuming(mq) as client:
            mq.seed("orders", [b"x" * 5000] * 4)
            client.take("orders", commit=False)
        broker = mq.broker("broker-a")
        broker.kill(lose_unsynced=True)
        broker.restart()
        assert mq.messages("orders") == []
        mq.seed("orders", [b"new"])
        (message,) = mq.messages("orders")
        assert lines(message) == [
            "ID b'new' of orders",
            "12:00:00.000 stored in orders broker-a-0/0@0",
            "12:00:00.000 dispatched at broker-a-0",
        ]
        mq.assert_not_redelivered("orders", "billing")


def test_biography_shows_an_offset_that_was_set_back(alone: fakemq.Cluster) -> None:
    with consuming(alone) as client:
        alone.seed("orders", [b"one", b"two"])
        client.take("orders")
        (queue,) = client.subscribe_queues("orders")
        client.update_offset(queue, 1, oneway=False)
        one, two = alone.messages("orders")
        again = "12:00:00.000 to be consumed again by billing: offset set back to 1 by CLIENT"
        assert again not in lines(one)
        assert lines(two)[-2:] == [
            "12:00:00.000 acked by billing: offset 2 committed by CLIENT",
            again,
        ]
        alone.assert_consumed("orders", "billing", bodies=["one"])
        assert alone.diagnosis() == [
            "b'two' of orders: delivered once to billing, not acked since a set-back"
        ]
        client.take("orders", 1)
    assert lines(two)[-1] == "12:00:00.000 acked by billing: offset 2 committed by CLIENT"
    alone.assert_consumed("orders", "billing")
    assert len(one.biography.of(steps.Acknowledged)) == 1


def test_delivery_of_a_retry_follows_the_end_of_its_delay() -> None:
    """A pull that waits is answered before the journal says that the delay is over."""

    def refuse(message: object) -> None:
        raise ValueError

    with fakemq.Cluster(clock="frozen", topics={"orders": 1}) as mq:
        mq.consumer(group="g", subscribe="orders", on_message=refuse, max_reconsume_times=1)
        mq.producer().send("orders", b"x")
        mq.clock.advance("30s")
        kinds = [type(step).__name__ for step in mq.messages("orders")[0].biography]
        assert kinds.index("DelayEnded") < len(kinds) - 1 - kinds[::-1].index("Delivered")
        assert "dead letter of g after 1 retry" in str(mq.messages("orders")[0].biography)


def test_biography_of_what_is_no_message_is_refused(alone: fakemq.Cluster) -> None:
    with pytest.raises(TypeError, match=r"biography\(7\): expected a message, such as"):
        alone.biography(7)  # type: ignore[arg-type]
    with pytest.raises(LookupError, match="no message with the unique id 'zzz'"):
        alone.biography("zzz")
