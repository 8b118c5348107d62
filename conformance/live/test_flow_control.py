"""What a busy broker says: to raw clients as on a real 4.9.7 broker, and to Java's producers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count

import pytest

import fakemq
from conformance.drivers.java_program import JavaClients
from conformance.live.groups import WAITING
from conformance.targets.java_cluster import JavaCluster
from conformance.wire.raw import RawConnection, frame, json_header
from conformance.wire.requests import send_v2_fields, texts
from fakemq.clock.machine_time import real_elapsed_ms
from fakemq.events import AppendRefused, FaultHit, FlowControlled, RequestReceived
from fakemq.protocol.codes import RequestCode

# A real broker, JVMs of clients, and real load until each text was said.
pytestmark = [pytest.mark.slow, WAITING]

SEND = RequestCode.SEND_MESSAGE_V2
ONEWAY = 2
TOPIC = "Flow"
BATCH = 300
"""Sends of one storm: more than the queue takes."""
STORMS_MS = 60_000
QUEUE = 100
OPAQUES = count(1)
BROKERS = ("broker-a", "broker-b")

TIMED_OUT, OVERLOAD = "TIMEOUT_CLEAN_QUEUE", "OVERLOAD"
REJECTED, CLEANED, SYNCHRONIZED = "REJECTREQUEST", "PCBUSY_CLEAN_QUEUE", "PC_SYNCHRONIZED"

Shape = tuple[object, ...]
"""An answer without its numbers and its opaque: code, remark, flag, and names of its fields."""


def shape_of(whole: bytes) -> Shape:
    header = json_header(whole)
    remark = re.sub(r"\d+", "N", str(header.get("remark", "")))
    fields = header.get("extFields") or {}
    assert isinstance(fields, dict)
    return (header["code"], remark, header["flag"], *sorted(fields))


def a_send(flag: int = 0) -> bytes:
    fields = texts(send_v2_fields(TOPIC))
    return frame(SEND, fields, b"x" * 4_000, opaque=next(OPAQUES), flag=flag)


def kinds(shapes: set[Shape]) -> set[str]:
    return {found[1] for shape in shapes if (found := re.match(r"\[(\w+)\]", str(shape[1])))}


# -- a real broker ----------------------------------------------------------------------------


def storm(stack: ExitStack, addr: str, wanted: set[str], flag: int = 0) -> set[Shape]:
    """Send many messages at a time, over several connections, until all texts have come."""
    connections = [stack.enter_context(RawConnection(addr, 1.0)) for _ in range(4)]
    seen: set[Shape] = set()
    until_ms = real_elapsed_ms() + STORMS_MS
    while not wanted <= kinds(seen):
        assert real_elapsed_ms() < until_ms, f"{wanted - kinds(seen)} did not come"
        for connection in connections:
            connection.send(b"".join(a_send(flag) for _ in range(BATCH)))
        for connection in connections:
            connection.send(frame(RequestCode.GET_BROKER_CONFIG, opaque=0))
            answers = 0
            try:
                while flag or answers < BATCH:
                    whole = connection.receive()
                    if json_header(whole)["opaque"] != 0:
                        answers += 1
                        seen.add(shape_of(whole))
            except TimeoutError:
                assert flag, f"{answers} answers to {BATCH} sends"
    return {shape for shape in seen if shape[0] != 0}


def configure(addr: str, **config: object) -> None:
    text = "".join(f"{key}={value}\n" for key, value in config.items()).encode()
    with RawConnection(addr) as connection:
        whole = connection.call(frame(RequestCode.UPDATE_BROKER_CONFIG, {}, text))
    assert json_header(whole)["code"] == 0


def of_a_real_broker() -> dict[str, set[Shape]]:
    config = {"sendThreadPoolQueueCapacity": str(QUEUE), "sendMessageThreadPoolNums": "4"}
    with JavaCluster(1, {TOPIC: 4}, config) as cluster, ExitStack() as stack:
        addr = cluster.brokers[0].addr
        configure(addr, waitTimeMillsInSendQueue=0)
        said = {"queue": storm(stack, addr, {TIMED_OUT, OVERLOAD})}
        said["queue, one-way"] = storm(stack, addr, {TIMED_OUT}, ONEWAY)
        configure(addr, waitTimeMillsInSendQueue=10_000, osPageCacheBusyTimeOutMills=-1)
        said["page cache"] = storm(stack, addr, {REJECTED, CLEANED, SYNCHRONIZED})
        said["page cache, one-way"] = storm(stack, addr, {REJECTED, CLEANED}, ONEWAY)
    return said


# -- the fake ---------------------------------------------------------------------------------


class Fake:
    """A frozen broker whose faults cause the same."""

    def __init__(self, mq: fakemq.Cluster, stack: ExitStack, flag: int) -> None:
        self.mq, self._flag = mq, flag
        self.addr = mq.broker("broker-a").addr
        self._connection = stack.enter_context(RawConnection(self.addr, 5.0))
        mq.clock.advance("1s")

    def begin(self, times: int = 1) -> None:
        hits = len(self.mq.journal.find(FaultHit))
        self._connection.send(b"".join(a_send(self._flag) for _ in range(times)))
        self.mq.wait_for(lambda: len(self.mq.journal.find(FaultHit)) >= hits + times)

    def end(self, times: int = 1) -> set[Shape]:
        return {shape_of(self._connection.receive()) for _ in range(times)}

    def queue(self) -> set[Shape]:
        configure(self.addr, sendThreadPoolQueueCapacity=QUEUE)
        with self.mq.faults.busy("broker-a"):
            self.begin(QUEUE + 1)
            self.mq.clock.advance("210ms")
            return self.end(QUEUE if self._flag else QUEUE + 1)

    def page_cache(self) -> set[Shape]:
        configure(self.addr, waitTimeMillsInSendQueue=10_000)
        with self.mq.faults.page_cache_busy("broker-a"):
            with self.mq.faults.busy("broker-a"):
                self.begin()
                self.mq.clock.advance("1010ms")
                seen = self.end()
            self.begin()
            seen |= self.end()
        if self._flag:
            return seen
        configure(self.addr, brokerFastFailureEnable="false")
        busy = self.mq.faults.busy("broker-a")
        self.begin()
        with self.mq.faults.page_cache_busy("broker-a"):
            self.mq.clock.advance("1001ms")
            busy.remove()
            return seen | self.end()


def of_the_fake() -> dict[str, set[Shape]]:
    said = {}
    for name, flag in (("", 0), (", one-way", ONEWAY)):
        parts: tuple[tuple[str, Callable[[Fake], set[Shape]]], ...] = (
            ("queue", Fake.queue),
            ("page cache", Fake.page_cache),
        )
        for part, of in parts:
            with fakemq.Cluster(clock="frozen", topics={TOPIC: 4}) as mq, ExitStack() as stack:
                said[part + name] = of(Fake(mq, stack, flag))
    return said


def test_busy_brokers_answer_as_real_ones_do(java: None) -> None:
    fake, real = of_the_fake(), of_a_real_broker()
    assert kinds(fake["queue"]) == {TIMED_OUT, OVERLOAD}
    for part, shapes in fake.items():
        assert shapes <= real[part], part
    # A storm may also fill the queue where no part asks for it.
    assert set().union(*real.values()) == set().union(*fake.values())


# -- Java's producers -------------------------------------------------------------------------


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(masters=2, clock="frozen", topics={TOPIC: 1}) as cluster:
        cluster.clock.advance("1s")
        yield cluster


def test_java_producer_tries_another_broker_after_one_of_the_texts_only(
    java: None, mq: fakemq.Cluster
) -> None:
    with JavaClients() as clients:
        assert clients.do("producer", "p", mq.namesrv_addr, 60_000, 2) == "made"
        assert clients.do("send", "p", TOPIC, "first").startswith("SEND_OK")

        caches = [mq.faults.page_cache_busy(name, must_fire=False) for name in BROKERS]
        with caches[0], caches[1]:
            mq.clock.advance("1001ms")
            assert clients.do("send", "p", TOPIC, "rejected") == "!MQBrokerException 2"
        (rejected,) = mq.journal.find(FlowControlled)
        assert REJECTED in rejected.remark

        threads = [mq.faults.busy(name, must_fire=False) for name in BROKERS]
        with threads[0], threads[1]:
            hits = len(mq.journal.find(FaultHit))
            sending = clients.begin("send", "p", TOPIC, "late")
            mq.wait_for(lambda: len(mq.journal.find(FaultHit)) > hits)
            mq.clock.advance("210ms")
            assert clients.result(sending) == "!MQBrokerException 2"

        for name in BROKERS:
            configure(mq.broker(name).addr, brokerFastFailureEnable="false")
        busy = [mq.faults.busy(name, must_fire=False) for name in BROKERS]
        hits = len(mq.journal.find(FaultHit))
        sending = clients.begin("send", "p", TOPIC, "twice")
        mq.wait_for(lambda: len(mq.journal.find(FaultHit)) > hits)
        (first,) = mq.journal.find(FaultHit)[hits:]
        with mq.faults.page_cache_busy(first.node):
            mq.clock.advance("1001ms")
            for fault in busy:
                fault.remove()
            assert clients.result(sending).startswith("SEND_OK")
        assert [event.node for event in mq.journal.find(AppendRefused)] == [first.node]
        sends = [event.node for event in mq.journal.find(RequestReceived, code=SEND)]
        assert len(set(sends[-2:])) == 2
