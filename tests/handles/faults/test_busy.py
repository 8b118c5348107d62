"""Flow control: busy thread pools and a busy page cache, by the cluster's clock."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import fakemq
from fakemq.client import MQBrokerError
from fakemq.errors import ConfigError
from fakemq.events import AppendRefused, FaultHit, FlowControlled, LinkClosed, RequestHandled
from fakemq.handles.faults.nodes import Pool
from fakemq.protocol.bodies.kv import KVTable
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.transaction import EndTransactionRequestHeader
from tests.support.broker_lab import send_header
from tests.support.clients import pull_header
from tests.support.tcp import TcpPeer
from tests.support.tcp_clients import SEND, bodies, send, status_of

OK, ERROR, BUSY = ResponseCode.SUCCESS, ResponseCode.SYSTEM_ERROR, ResponseCode.SYSTEM_BUSY
CLEANED = "broker busy, start flow control for a while, period in queue: {}ms, size of queue: {}"
TIMED_OUT = "[TIMEOUT_CLEAN_QUEUE]" + CLEANED
PAGE_CACHE = "[PCBUSY_CLEAN_QUEUE]" + CLEANED
REJECTED = "[REJECTREQUEST]system busy, start flow control for a while"
OVERLOAD = "[OVERLOAD]system busy, start flow control for a while"
HALF = "UNIQ_KEY\x01K\x02WAIT\x01true\x02TRAN_MSG\x01true\x02PGROUP\x01producers"
SYNCHRONIZED = "[PC_SYNCHRONIZED]broker busy, start flow control for a while"


@pytest.fixture(autouse=True)
def scans_began(mq: fakemq.Cluster) -> None:
    """The scans for requests that wait too long are at 1,000 ms, 1,010 ms, … after the start."""
    mq.clock.advance("1003ms")


def begin(mq: fakemq.Cluster, act: Callable[[], int]) -> int:
    """Send a request that a fault hits; return its opaque once it waits, or has its answer."""
    before = len(mq.journal.find(FaultHit))
    opaque = act()
    mq.wait_for(lambda: len(mq.journal.find(FaultHit)) > before)
    mq.inspect(lambda core: None)  # the hit is noted before its effect
    return opaque


def waiting_send(mq: fakemq.Cluster, peer: TcpPeer, body: bytes = b"one") -> int:
    return begin(mq, lambda: send(peer, body))


def said(answer: RemotingCommand) -> tuple[int, str | None]:
    return answer.code, answer.remark


def configure(peer: TcpPeer, **config: object) -> None:
    text = "".join(f"{key}={value}\n" for key, value in config.items())
    assert peer.ask(RequestCode.UPDATE_BROKER_CONFIG, body=text.encode()).code == OK


# -- threads ----------------------------------------------------------------------------------


def test_old_requests_of_a_queue_fail_at_the_next_scan(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    fault = mq.faults.busy("broker-a")
    first, second = waiting_send(mq, peer), waiting_send(mq, peer)
    mq.clock.advance("8ms")
    third = waiting_send(mq, peer)
    assert mq.clock.advance("198ms") == []
    assert [fired.kind for fired in mq.clock.advance("1ms")] == ["fast_failure"]
    assert said(peer.receive(first)) == (BUSY, TIMED_OUT.format(207, 2))
    assert said(peer.receive(second)) == (BUSY, TIMED_OUT.format(207, 1))
    fault.remove()
    assert peer.receive(third).code == OK
    assert (fault.fired, fault.what) == (3, "busy send threads at broker-a-0")


def test_cause_of_a_refusal_is_the_fault(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    fault = mq.faults.busy("broker-a")
    opaque = waiting_send(mq, peer)
    mq.clock.advance("207ms")
    peer.receive(opaque)
    (refused,) = [one for one in mq.journal if isinstance(one.event, FlowControlled)]
    (hit,) = [one for one in mq.journal if isinstance(one.event, FaultHit)]
    assert isinstance(refused.event, FlowControlled)
    assert refused.event == FlowControlled(
        node="broker-a-0",
        code=SEND,
        peer=refused.event.peer,
        pool="send",
        remark=TIMED_OUT.format(207, 0),
    )
    (handled,) = mq.journal.find(RequestHandled, code=SEND)
    assert (handled.response_code, refused.cause) == (BUSY, hit.seq)
    assert mq.diagnosis() == [f"fault {fault.number} busy send threads at broker-a-0 hit once"]


def test_full_queue_refuses_requests_and_drops_one_way_ones(
    mq: fakemq.Cluster, peer: TcpPeer
) -> None:
    configure(peer, sendThreadPoolQueueCapacity=2)
    with mq.faults.busy("broker-a"):
        waiting = [waiting_send(mq, peer, body) for body in (b"one", b"two")]
        begin(mq, lambda: peer.send(SEND, body=b"three", oneway=True))
        assert said(peer.receive(waiting_send(mq, peer))) == (BUSY, OVERLOAD)
        configure(peer, sendThreadPoolQueueCapacity=3)
        waiting.append(waiting_send(mq, peer, b"four"))
    assert [peer.receive(opaque).code for opaque in waiting] == [OK] * 3
    assert sorted(bodies(mq)) == [b"four", b"one", b"two"]
    events = mq.journal.find(FlowControlled)
    assert [event.remark for event in events] == [OVERLOAD] * 2


def test_requests_wait_without_fast_failure(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    configure(peer, brokerFastFailureEnable="false")
    mq.faults.busy("broker-a")
    opaque = waiting_send(mq, peer)
    assert "fast_failure" not in {fired.kind for fired in mq.clock.advance("10s")}
    configure(peer, brokerFastFailureEnable="true")
    mq.clock.advance("10ms")
    assert said(peer.receive(opaque)) == (BUSY, TIMED_OUT.format(10_007, 0))


def test_longest_wait_is_read_at_each_scan(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    mq.faults.busy("broker-a")
    configure(peer, waitTimeMillsInSendQueue=5_000)
    opaque = waiting_send(mq, peer)
    mq.clock.advance("1s")
    configure(peer, waitTimeMillsInSendQueue=0)
    mq.clock.advance("10ms")
    assert said(peer.receive(opaque)) == (BUSY, TIMED_OUT.format(1_007, 0))


@pytest.mark.parametrize(
    ("pool", "code", "wait_ms"),
    [("pull", 11, 5_000), ("heartbeat", 34, 31_000), ("transaction", 37, 3_000)],
)
def test_pools_have_their_own_longest_waits(
    mq: fakemq.Cluster, peer: TcpPeer, pool: Pool, code: int, wait_ms: int
) -> None:
    mq.faults.busy("broker-a", pool)
    opaque = begin(mq, lambda: peer.send(code, body=b"{}"))
    assert status_of(peer) == OK  # other pools have free threads
    mq.clock.advance(f"{wait_ms + 6}ms")
    assert not mq.journal.find(FlowControlled)
    mq.clock.advance("1ms")
    assert said(peer.receive(opaque)) == (BUSY, TIMED_OUT.format(wait_ms + 7, 0))


@pytest.mark.parametrize(
    ("pool", "code"),
    [("reply", 324), ("query", 12), ("client", 46), ("consumer", 38), ("admin", 30)],
)
def test_requests_of_other_pools_wait_until_a_thread_is_free(
    mq: fakemq.Cluster, peer: TcpPeer, pool: Pool, code: int
) -> None:
    with mq.faults.busy("broker-a", pool):
        opaque = begin(mq, lambda: peer.send(code))
        mq.clock.advance("1m")
    assert peer.receive(opaque).code != BUSY


def test_pull_of_a_closed_connection_is_dropped(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    fault = mq.faults.busy("broker-a", "pull")
    with TcpPeer(mq.broker("broker-a").addr) as leaving:
        begin(mq, lambda: leaving.send(RequestCode.PULL_MESSAGE, pull_header(topic="orders")))
    mq.wait_for(lambda: mq.journal.find(LinkClosed))
    fault.remove()
    assert not mq.journal.find(RequestHandled, code=RequestCode.PULL_MESSAGE)


def test_request_of_a_killed_client_takes_no_place_in_a_queue(
    mq: fakemq.Cluster, peer: TcpPeer
) -> None:
    configure(peer, sendThreadPoolQueueCapacity=2)
    with mq.faults.busy("broker-a") as fault:
        producer = mq.producer()
        first = waiting_send(mq, peer)
        producer.send_async("orders", b"lost")
        mq.wait_for(lambda: fault.fired == 2)
        producer.kill()
        info = KVTable.decode(peer.ask(RequestCode.GET_BROKER_RUNTIME_INFO).body).table
        assert info["sendThreadPoolQueueSize"] == "1"
        second = waiting_send(mq, peer, b"two")
        assert said(peer.receive(waiting_send(mq, peer))) == (BUSY, OVERLOAD)
    assert [peer.receive(opaque).code for opaque in (first, second)] == [OK, OK]


def test_request_of_a_killed_client_does_not_stop_a_scan(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    fault, producer = mq.faults.busy("broker-a"), mq.producer()
    first = waiting_send(mq, peer)
    producer.send_async("orders", b"lost")
    mq.wait_for(lambda: fault.fired == 2)
    third = waiting_send(mq, peer)
    producer.kill()
    mq.clock.advance("207ms")
    assert [peer.receive(opaque).code for opaque in (first, third)] == [BUSY, BUSY]
    assert len(mq.journal.find(FlowControlled)) == 2


def test_threads_are_busy_until_the_last_such_fault_is_removed(
    mq: fakemq.Cluster, peer: TcpPeer
) -> None:
    configure(peer, brokerFastFailureEnable="false")
    with mq.faults.busy("broker-a"):
        with mq.faults.busy("broker-a", must_fire=False):
            opaque = waiting_send(mq, peer)
        assert not bodies(mq)
    assert peer.receive(opaque).code == OK


@pytest.mark.parametrize("how", ["kill", "reset"])
def test_requests_in_a_queue_are_lost_with_the_broker(
    mq: fakemq.Cluster, peer: TcpPeer, how: str
) -> None:
    fault = mq.faults.busy("broker-a", must_fire=False)
    waiting_send(mq, peer)
    if how == "kill":
        mq.broker("broker-a").kill()
        mq.broker("broker-a").restart()
        mq.clock.advance("1s")
        fault.remove()
    else:
        mq.reset()
        mq.clock.advance("1s")
    assert bodies(mq) == []
    assert not mq.journal.find(FlowControlled)


def test_fault_survives_a_restart(mq: fakemq.Cluster) -> None:
    mq.faults.busy("broker-a")
    mq.broker("broker-a").restart()
    mq.clock.advance("2s")
    with TcpPeer(mq.broker("broker-a").addr) as peer:
        opaque = waiting_send(mq, peer)
        mq.clock.advance("210ms")
        assert peer.receive(opaque).code == BUSY


def test_paused_broker_handles_released_requests_when_it_resumes(
    mq: fakemq.Cluster, peer: TcpPeer
) -> None:
    with mq.faults.busy("broker-a"):
        opaque = waiting_send(mq, peer)
        mq.broker("broker-a").pause()
        mq.clock.advance("1s")
    assert bodies(mq) == []
    mq.broker("broker-a").resume()
    mq.clock.advance(0)
    assert peer.receive(opaque).code == OK


def test_runtime_information_shows_the_queues(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    mq.faults.busy("broker-a")
    mq.faults.page_cache_busy("broker-a", must_fire=False)
    waiting_send(mq, peer)
    mq.clock.advance("150ms")
    shown = KVTable.decode(peer.ask(RequestCode.GET_BROKER_RUNTIME_INFO).body).table
    assert shown["sendThreadPoolQueueSize"] == "1"
    assert shown["sendThreadPoolQueueHeadWaitTimeMills"] == "150"
    assert shown["pullThreadPoolQueueSize"] == shown["EndTransactionQueueSize"] == "0"
    assert shown["pageCacheLockTimeMills"] == "150"


def test_impossible_pool_or_broker_is_refused(mq: fakemq.Cluster) -> None:
    with pytest.raises(ConfigError, match="pool='sends': expected send or pull"):
        mq.faults.busy("broker-a", "sends")  # type: ignore[arg-type]  # a mistake of a test
    with pytest.raises(LookupError, match="broker-z"):
        mq.faults.page_cache_busy("broker-z")


# -- the page cache ---------------------------------------------------------------------------


def test_sends_wait_for_the_lock_then_in_the_queue_and_then_are_rejected(
    mq: fakemq.Cluster, peer: TcpPeer
) -> None:
    with mq.faults.page_cache_busy("broker-a") as fault:
        at_lock = [waiting_send(mq, peer, b"%d" % number) for number in range(3)]
        queued = waiting_send(mq, peer, b"queued")
        mq.clock.advance("207ms")
        assert said(peer.receive(queued)) == (BUSY, TIMED_OUT.format(207, 0))
        mq.clock.advance("793ms")  # a second: not yet too long
        late = waiting_send(mq, peer, b"late")
        mq.clock.advance("1ms")
        assert said(peer.receive(waiting_send(mq, peer))) == (BUSY, REJECTED)
        # Java answers one-way requests, too.
        oneway = begin(mq, lambda: peer.send(SEND, oneway=True))
        assert said(peer.receive(oneway)) == (BUSY, REJECTED)
        mq.clock.advance("6ms")
        assert said(peer.receive(late)) == (BUSY, PAGE_CACHE.format(7, 0))
    assert [peer.receive(opaque).code for opaque in at_lock] == [OK] * 3
    assert sorted(bodies(mq)) == [b"0", b"1", b"2"]
    assert fault.fired == 8
    assert status_of(peer) == OK


def test_send_that_has_a_thread_when_the_page_cache_is_busy_is_refused_by_the_store(
    mq: fakemq.Cluster, peer: TcpPeer
) -> None:
    configure(peer, brokerFastFailureEnable="false")
    busy = mq.faults.busy("broker-a")
    opaque = waiting_send(mq, peer)
    fault = mq.faults.page_cache_busy("broker-a")
    mq.clock.advance("1001ms")
    busy.remove()
    assert said(peer.receive(opaque)) == (ERROR, SYNCHRONIZED)
    assert [event.status for event in mq.journal.find(AppendRefused)] == ["OS_PAGECACHE_BUSY"]
    assert fault.fired == 1


def test_rejection_is_due_to_the_page_cache_and_not_to_the_threads(
    mq: fakemq.Cluster, peer: TcpPeer
) -> None:
    mq.faults.busy("broker-a")
    cache = mq.faults.page_cache_busy("broker-a")
    mq.clock.advance("1001ms")
    assert said(peer.receive(waiting_send(mq, peer))) == (BUSY, REJECTED)
    assert cache.fired == 1


def test_time_after_which_the_page_cache_is_busy_is_read_each_time(
    mq: fakemq.Cluster, peer: TcpPeer
) -> None:
    configure(peer, osPageCacheBusyTimeOutMills=3_000)
    fault = mq.faults.page_cache_busy("broker-a")
    mq.clock.advance("2s")
    at_lock = waiting_send(mq, peer)
    configure(peer, osPageCacheBusyTimeOutMills=1_999)
    assert said(peer.receive(waiting_send(mq, peer))) == (BUSY, REJECTED)
    mq.clock.advance("3h")  # as in Java, a lock of over 10,000 s counts as free
    configure(peer, sendMessageThreadPoolNums=3)
    second = waiting_send(mq, peer)
    fault.remove()
    assert [peer.receive(at_lock).code, peer.receive(second).code] == [OK, OK]


def test_end_of_a_transaction_finds_the_page_cache_busy(mq: fakemq.Cluster, peer: TcpPeer) -> None:
    half = peer.ask(SEND, send_header(sys_flag=4, properties=HALF), b"half")
    mq.faults.page_cache_busy("broker-a")
    mq.clock.advance("1001ms")
    end = EndTransactionRequestHeader(
        producer_group="producers",
        tran_state_table_offset=int(half.ext_fields["queueOffset"]),
        commit_log_offset=int(half.ext_fields["msgId"][16:], 16),
        commit_or_rollback=8,
        from_transaction_check=False,
        msg_id="K",
        transaction_id="K",
    )
    refused = said(peer.ask(RequestCode.END_TRANSACTION, end))
    assert refused == (ERROR, "OS page cache busy, please try another machine")


# -- clients inside ---------------------------------------------------------------------------


def test_producer_tries_another_broker_after_the_codes_of_its_settings() -> None:
    with fakemq.Cluster(masters=2, clock="frozen", topics={"orders": 1}, seed=1) as mq:
        mq.clock.advance("1003ms")
        mq.faults.page_cache_busy("broker-a")
        mq.clock.advance("1001ms")
        hasty = mq.producer(group="hasty")
        results = []
        for _ in range(2):
            try:
                results.append(hasty.send("orders", b"x").broker_name)
            except MQBrokerError as error:
                results.append(str(error.code))
        # As in 4.9.7, SYSTEM_BUSY is not among the codes after which another broker is tried.
        assert sorted(results) == ["2", "broker-b"]
        patient = mq.producer(group="patient", retry_response_codes=[BUSY])
        assert {patient.send("orders", b"x").broker_name for _ in range(4)} == {"broker-b"}


def test_consumer_pulls_again_three_seconds_after_a_refusal() -> None:
    with fakemq.Cluster(clock="frozen", topics={"orders": 1}, seed=1) as mq:
        with mq.faults.busy("broker-a", "pull"):
            consumer = mq.consumer(group="billing", subscribe="orders")
            mq.producer().send("orders", b"x")
            mq.clock.advance("6s")
            assert mq.journal.find(FlowControlled, pool="pull")
        mq.clock.advance("3s")
        assert [message.body for message in consumer.received] == [b"x"]
