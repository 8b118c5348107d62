"""Views of topics, queues and messages, made from tables and stores."""

from __future__ import annotations

import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lz4.frame  # type: ignore[import-untyped]  # it has none
import pytest
import zstandard

from fakemq.clock.slices import finished
from fakemq.cluster import Cluster
from fakemq.core import inspection
from fakemq.core.cluster import ClusterCore
from fakemq.errors import FakemqError
from fakemq.events import Delivered
from fakemq.handles.values import Message
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.pull import PullMessageRequestHeader
from fakemq.protocol.headers.send import SendMessageRequestHeaderV2
from fakemq.protocol.sysflag import PullSysFlag
from tests.support.broker_lab import send_header
from tests.support.long_reads import result_of_slices, wait_until_in_slices
from tests.support.tcp import TcpPeer


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    with Cluster(masters=2, clock="frozen", topics={"orders": 2}) as cluster:
        yield cluster


@pytest.fixture
def mq(running: Cluster) -> Cluster:
    running.reset()
    return running


def send(peer: TcpPeer, header: SendMessageRequestHeaderV2, body: bytes) -> None:
    assert peer.ask(RequestCode.SEND_MESSAGE_V2, header, body).code == 0


def test_messages_are_listed_in_store_order_over_all_brokers(mq: Cluster) -> None:
    # The clock is frozen, so only the journal knows.
    for number in range(6):
        name = "broker-b" if number % 2 else "broker-a"
        with TcpPeer(mq.broker(name).addr) as peer:
            send(peer, send_header(queue_id=number // 2 % 2), b"%d" % number)
    assert [one.body for one in mq.messages("orders")] == [b"%d" % n for n in range(6)]
    assert len({one.store_timestamp_ms for one in mq.messages("orders")}) == 1


def test_messages_forgotten_by_the_journal_are_listed_first(mq: Cluster) -> None:
    mq.seed("orders", [b"old 1", b"old 2"])
    mq.inspect(lambda core: core.journal.clear())
    mq.seed("orders", [b"new"])
    assert [one.body for one in mq.messages("orders")] == [b"old 1", b"old 2", b"new"]


def test_message_shows_all_its_fields(mq: Cluster) -> None:
    with TcpPeer(mq.broker("broker-a").addr) as peer:
        send(peer, send_header(queue_id=1, properties="TAGS\x01paid\x02KEYS\x01k1 k2"), b"body")
        host, _ = peer.sock.getsockname()
    (message,) = mq.messages("orders")
    assert (message.topic, message.broker, message.queue_id, message.offset) == (
        *("orders", "broker-a", 1, 0),
    )
    assert (message.body, message.tags, message.keys) == (b"body", "paid", "k1 k2")
    assert message.msg_id == message.offset_msg_id, "its producer gave it no unique id"
    assert message.store_timestamp_ms == mq.clock.now_ms()
    assert (message.born_host, message.store_host) == (host, mq.broker("broker-a").addr)
    assert message.deliveries == ()


def test_bodies_are_decompressed(mq: Cluster) -> None:
    with TcpPeer(mq.broker("broker-a").addr) as peer:
        for sys_flag, body in (
            (0x101, lz4.frame.compress(b"one" * 99)),
            (0x201, zstandard.compress(b"two" * 99)),
            (0x001, zlib.compress(b"three" * 99)),
            (0x101, b"not compressed at all"),
        ):
            send(peer, send_header(sys_flag=sys_flag), body)
    assert [one.body for one in mq.messages("orders")] == [
        *(b"one" * 99, b"two" * 99, b"three" * 99),
        b"not compressed at all",
    ]
    assert [one.sys_flag for one in mq.messages("orders")] == [0x101, 0x201, 0x001, 0x101]


def test_deliveries_of_a_message_are_listed(mq: Cluster) -> None:
    mq.seed("orders", [b"one"])
    with TcpPeer(mq.broker("broker-a").addr) as peer:
        header = PullMessageRequestHeader(
            consumer_group="billing", topic="orders", queue_id=0, queue_offset=0, max_msg_nums=32,
            sys_flag=PullSysFlag.SUBSCRIPTION, commit_offset=0, suspend_timeout_millis=0,
            subscription="*", sub_version=0, expression_type="TAG",
        )  # fmt: skip
        assert peer.ask(RequestCode.PULL_MESSAGE, header).code == 0
        mq.clock.advance("1s")
        assert peer.ask(RequestCode.PULL_MESSAGE, header).code == 0
        name = "{}:{}".format(*peer.sock.getsockname())
    (message,) = mq.messages("orders")
    now_ms = mq.clock.now_ms()
    assert [(one.group, one.peer, one.at_ms) for one in message.deliveries] == [
        ("billing", name, now_ms - 1000),
        ("billing", name, now_ms),
    ]
    assert mq.journal.find(Delivered)[0].offsets == range(1)


def test_long_seed_lets_others_go_first_and_returns_its_own_messages(mq: Cluster) -> None:
    numbers = [b"%d" % n for n in range(3_000)]
    mq.create_topic("others", 1)
    seeded = result_of_slices(
        mq,
        lambda: mq.seed("others", numbers),
        lambda: mq.seed("others", [b"from another"]),
    )
    assert [one.body for one in seeded] == numbers
    bodies = [one.body for one in mq.messages("others")]
    assert sorted(bodies) == sorted([*numbers, b"from another"])
    assert bodies[-1] != b"from another"


def test_long_read_lets_others_go_first_and_shows_what_was_there_before(mq: Cluster) -> None:
    numbers = [b"%d" % n for n in range(3_000)]
    mq.seed("orders", numbers)
    found = result_of_slices(
        mq, lambda: mq.messages("orders"), lambda: mq.seed("orders", [b"later"])
    )
    assert [one.body for one in found] == numbers
    assert mq.messages("orders")[-1].body == b"later"


def test_long_read_ends_with_its_topic_and_with_a_reset(mq: Cluster) -> None:
    core = mq.inspect(lambda core: core)

    def read(meanwhile: Callable[[], object]) -> list[Message]:
        mq.seed("orders", ["x"] * 3_000)
        return result_of_slices(mq, lambda: mq.messages("orders"), meanwhile)

    store = core.broker("broker-a").store
    assert 0 < len(read(lambda: store.delete_consume_queue("orders"))) < 3_000
    with pytest.raises(FakemqError, match="the cluster was reset or restored meanwhile: ask again"):
        read(core.reset)


def test_long_read_begins_again_when_a_store_is_closed_or_opened(tmp_path: Path) -> None:
    with Cluster(clock="frozen", topics={"orders": 1}, store=tmp_path) as mq:
        server = mq._running().server

        def read(core: ClusterCore, *, starts: bool) -> int:
            steps = inspection.messages(core, "orders")
            for _ in range(3):  # the journal, and two messages
                next(steps)
            server.kill_broker(core.broker("broker-a"))
            if starts:
                server.start_broker(core.broker("broker-a"))
            return len(finished(steps))

        mq.seed("orders", ["x"] * 5)
        assert mq.inspect(lambda core: read(core, starts=True)) == 5
        assert mq.inspect(lambda core: read(core, starts=False)) == 0


def test_long_read_ends_with_its_cluster() -> None:
    with Cluster(clock="frozen") as mq, ThreadPoolExecutor(1) as pool:
        mq.seed("orders", ["x"] * 10_000)
        slices = mq.inspect(lambda core: core.clock.slices)
        slices.soon = lambda: None  # the turn with the rest of the read does not come
        reading = pool.submit(mq.messages, "orders")
        wait_until_in_slices(mq, reading)
        mq.stop()
        with pytest.raises(FakemqError, match="the cluster has been stopped"):
            reading.result()


def test_page_of_a_topic_keeps_no_other_messages(mq: Cluster) -> None:
    mq.seed("orders", [bytes(100_000)] * 100)

    def peak_bytes(core: ClusterCore) -> int:
        tracemalloc.start()
        try:
            total, page = finished(inspection.messages_page(core, "orders", 50, 2))
            assert (total, len(page)) == (100, 2)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert mq.inspect(peak_bytes) < 1_000_000


def test_lag_counts_messages_behind_the_committed_offset(mq: Cluster) -> None:
    mq.seed("orders", [str(n) for n in range(8)])
    broker = mq.inspect(lambda core: core.broker("broker-b"))
    broker.offsets.commit("billing", "orders", 0, 1)
    assert mq.group("billing").lag("orders") == 7
    broker.offsets.commit("billing", "orders", 1, 99)
    assert mq.group("billing").lag("orders") == 5, "an offset past the end is no credit"
    assert mq.group("billing").lag("unknown") == 0


def test_unknown_names_are_refused(mq: Cluster) -> None:
    assert mq.messages("unknown") == []
    assert mq.queues("unknown") == []


def test_seeding_returns_the_stored_messages(mq: Cluster) -> None:
    mq.seed("orders", [b"before"])
    stored = mq.seed("orders", ["text", b"bytes"])
    assert [one.body for one in stored] == [b"text", b"bytes"]
    assert mq.seed("orders", []) == []
    assert len(mq.messages("orders")) == 3


@pytest.mark.parametrize("bodies", ["one", b"one"])
def test_seeding_refuses_one_body_instead_of_a_list(mq: Cluster, bodies: str | bytes) -> None:
    with pytest.raises(TypeError, match=r"expected a list of bodies, such as \[b?'one'\]"):
        mq.seed("orders", bodies)  # type: ignore[arg-type]


def test_seeding_skips_brokers_that_are_down(mq: Cluster) -> None:
    mq.broker("broker-a").kill()
    assert {one.broker for one in mq.seed("orders", [b"1", b"2", b"3"])} == {"broker-b"}
    mq.broker("broker-b").pause()
    with pytest.raises(FakemqError, match="no broker runs that could store messages for orders"):
        mq.seed("orders", [b"1"])


def test_seeding_names_the_broker_that_alone_has_the_topic_and_is_down(mq: Cluster) -> None:
    mq.broker("broker-b").kill()
    mq.create_topic("late", 1)
    mq.broker("broker-b").restart()
    mq.broker("broker-a").kill()
    text = "no running master has the topic late; it is at broker-a-0, which is stopped"
    with pytest.raises(FakemqError, match=text):
        mq.seed("late", [b"1"])
