"""Java replicas under our controller, and under Java's: their master is killed twice.

Every message that was acknowledged is at the last master, and every replica has its log.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

from conformance.live.groups import CROWDED
from conformance.targets.free_ports import free_port
from conformance.targets.java_cluster import SMALL_JVM, wait_until
from conformance.targets.java_controllers import (
    JavaControllers,
    JavaReplica,
    in_sync,
    replicas_info,
)
from conformance.targets.java_jars import NEWEST
from conformance.targets.master_slave_pairs import QUICK_REPORT
from conformance.targets.processes import FakemqProcess
from conformance.targets.replicas import Node, log_end, log_of, wait_dispatched
from conformance.wire.raw import RawConnection, call, frame, json_header, split
from conformance.wire.requests import pull_fields, send_v2_fields, texts
from fakemq.protocol.bodies.route import TopicRouteData
from fakemq.protocol.message import decode_records

# Eight JVMs, and twice a replica that comes into the set again, by timers of seconds.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(400), CROWDED]

CONFIG = {
    **QUICK_REPORT,
    "allAckInSyncStateSet": "true",
    "registerNameServerPeriod": "10000",  # the only source of a new master's address for slaves
}
REPLICAS, KILLS = 3, 2
TOPIC, ROUTED_TOPIC = "FailsOver", "TBW102"
SEND, PULL, ROUTE = 310, 11, 105
PAUSE_S = 0.01
SEND_TIMEOUT_S = 3.0
AFTER = 100
"""How many sends are acknowledged after each kill, before the next."""
IN_SYNC_S = 100.0
MOST_GAP_S = 20.0
"""Far more than a busy machine needs: both controllers elect as soon as a connection ends."""


class Controller(NamedTuple):
    """A controller and its name server."""

    kind: str
    namesrv_addr: str
    addr: str


class Outcome(NamedTuple):
    """What a producer saw, and what was left."""

    kind: str
    acknowledged: int
    lost: int
    gaps_ms: list[int]
    """For each kill, the time without an acknowledgement."""
    epoch: int


class Producer(threading.Thread):
    """Sends a message each 10 ms to the master of the route, and asks again whenever it fails."""

    def __init__(self, namesrv_addr: str) -> None:
        super().__init__(daemon=True)
        self._namesrv_addr = namesrv_addr
        self._ends = threading.Event()
        self.acknowledged: list[tuple[float, bytes]] = []

    def run(self) -> None:
        numbers = count()
        while not self._ends.wait(PAUSE_S):
            with suppress(OSError):  # a master that is gone
                self._send_until_one_fails(numbers)

    def _send_until_one_fails(self, numbers: Iterator[int]) -> None:
        addr = master_addr(self._namesrv_addr)
        if not addr:
            return
        with RawConnection(addr, SEND_TIMEOUT_S) as connection:
            while not self._ends.wait(PAUSE_S):
                body = str(next(numbers)).encode()
                answer = connection.call(frame(SEND, texts(send_v2_fields(TOPIC)), body))
                if json_header(answer)["code"] != 0:
                    return
                self.acknowledged.append((time.monotonic(), body))

    def wait(self, more: int) -> None:
        """Wait until this number of sends more is acknowledged."""
        wanted = len(self.acknowledged) + more
        wait_until(lambda: len(self.acknowledged) >= wanted, IN_SYNC_S)

    def stop(self) -> None:
        self._ends.set()
        if self.is_alive():
            self.join()

    def gap_ms(self, at_s: float) -> int:
        """Return how long nothing was acknowledged around a time."""
        times = [one for one, _ in self.acknowledged]
        before = max(one for one in times if one <= at_s)
        after = min(one for one in times if one > at_s + 0.005)
        return round((after - before) * 1000)


@contextmanager
def fake_controller() -> Iterator[Controller]:
    """Our controller, inside our name server."""
    addr, namesrv_addr = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    config = {
        "enableControllerInNamesrv": "true",
        "controllerDLegerGroup": "group",
        "controllerDLegerPeers": f"n0-{addr}",
        "controllerDLegerSelfId": "n0",
        "listenPort": namesrv_addr.rpartition(":")[2],
    }
    lines = [f"{key}={value}" for key, value in config.items()]
    with FakemqProcess("namesrv", "--reference", NEWEST, config=lines):
        yield Controller("ours", namesrv_addr, addr)


@contextmanager
def java_controller() -> Iterator[Controller]:
    """Java's controller, inside Java's name server."""
    with JavaControllers() as real:
        yield Controller("Java's", real.namesrv_addr, real.controllers[0].addr)


def master_addr(namesrv_addr: str) -> str:
    """Return the master of a route; empty where there is none."""
    _, _, body = split(call(namesrv_addr, frame(ROUTE, {"topic": ROUTED_TOPIC})))
    datas = TopicRouteData.decode(body).broker_datas if body else []
    return next((data.broker_addrs[0] for data in datas if 0 in data.broker_addrs), "")


def fail_over(controller: Controller, home: Path) -> Outcome:
    """Kill the master twice under sends; return what became of them."""
    replicas = [
        JavaReplica(home / str(number), [controller.namesrv_addr], [controller.addr], SMALL_JVM)
        for number in range(REPLICAS)
    ]
    producer = Producer(controller.namesrv_addr)
    try:
        for one in replicas:
            one.config |= CONFIG
            one.launch()
        for one in replicas:
            one.wait_ready()
        wait_until(lambda: len(in_sync(controller.addr)) == REPLICAS, IN_SYNC_S)
        producer.start()
        producer.wait(AFTER)
        killed_s = [kill_master(controller, replicas, producer) for _ in range(KILLS)]
        producer.stop()
        for one in replicas:
            if not one.running:
                one.start()
        wait_until(lambda: len(in_sync(controller.addr)) == REPLICAS, IN_SYNC_S)
        lost = missing_at(master_addr(controller.namesrv_addr), producer)
        assert_same_logs(controller, replicas)
        return Outcome(
            controller.kind,
            len(producer.acknowledged),
            len(lost),
            [producer.gap_ms(one) for one in killed_s],
            int(replicas_info(controller.addr)["masterEpoch"]),
        )
    finally:
        producer.stop()
        for one in replicas:
            one.kill()


def kill_master(controller: Controller, replicas: list[JavaReplica], producer: Producer) -> float:
    """Kill it; return when, as soon as another one is in step with its successor."""
    addr = replicas_info(controller.addr)["masterAddress"]
    (master,) = (one for one in replicas if one.addr == addr)
    now_s = time.monotonic()
    master.kill()
    producer.wait(AFTER)
    if sum(one.running for one in replicas) > 1:
        wait_until(lambda: len(in_sync(controller.addr)) > 1, IN_SYNC_S)
    return now_s


def missing_at(addr: str, producer: Producer) -> set[bytes]:
    """Return what was acknowledged and is not at a broker."""
    wait_dispatched(addr)
    found: set[bytes] = set()
    offset = 0
    with RawConnection(addr) as connection:
        while True:
            answer = connection.call(frame(PULL, texts(pull_fields(TOPIC, offset))))
            header, (_, _, records) = json_header(answer), split(answer)
            if header["code"] != 0:
                break
            messages = decode_records(records)
            found.update(one.body for one in messages)
            offset = messages[-1].queue_offset + 1
    return {body for _, body in producer.acknowledged} - found


def assert_same_logs(controller: Controller, replicas: list[JavaReplica]) -> None:
    """Every replica has the same bytes."""
    nodes = [Node(controller.namesrv_addr, one.addr, one.store) for one in replicas]
    wait_until(lambda: len({log_end(one) for one in nodes}) == 1, IN_SYNC_S)
    first, *others = (log_of(one) for one in nodes)
    assert all(one == first for one in others)


def test_java_replicas_lose_nothing_under_our_controller(java: None, tmp_path: Path) -> None:
    def run(which: str) -> Outcome:
        home = tmp_path / which
        home.mkdir()
        with (fake_controller if which == "fake" else java_controller)() as controller:
            return fail_over(controller, home)

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(run, ("fake", "java")))
    print(*outcomes, sep="\n")
    for one in outcomes:
        assert (one.lost, one.epoch) == (0, 1 + KILLS)
        assert one.acknowledged > KILLS * AFTER
        assert max(one.gaps_ms) < MOST_GAP_S * 1000
