"""``python -m conformance.fail_overs``: replicas of both kinds lose their masters under sends.

A mixture is a controller and three replicas, each Java's (``j``) or ours (``f``): ``j:fjf``. Its
producer sends a hundred messages a second, while it goes through courses, lists of steps:

- ``kill`` ends the master by SIGKILL, and waits until its successor has another member in its set;
- ``pause`` stops it until its successor acknowledges, and resumes it;
- ``controller`` kills the controller and its name server, and starts them again.

At the end of a course everyone is in the set again. All that was acknowledged must be at the master
then, and the logs and epochs of the replicas must be equal.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from itertools import count, pairwise
from pathlib import Path
from typing import NamedTuple, TypeAlias

from conformance.targets.free_ports import free_port
from conformance.targets.java_cluster import SMALL_JVM, wait_until
from conformance.targets.java_controllers import (
    JavaController,
    JavaControllers,
    JavaReplica,
    replicas_info,
)
from conformance.targets.java_jars import NEWEST
from conformance.targets.master_slave_pairs import QUICK_REPORT, FakeBroker, FakeNode
from conformance.targets.replicas import Node, log_end, log_of
from conformance.targets.runtime_info import wait_dispatched
from conformance.wire.raw import RawConnection, call, frame, json_header, split
from conformance.wire.requests import pull_fields, send_v2_fields, texts
from fakemq.protocol.bodies.route import TopicRouteData
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.message import decode_records

MIXTURES = tuple(f"{one}:{three}" for one in "jf" for three in ("jjj", "fff", "jfj", "fjf"))
COURSES: Mapping[str, Sequence[str]] = {
    "kills": ("kill", "kill"),
    "pause": ("pause",),
    "restart": ("kill", "controller", "kill"),
}
CONFIG = {
    **QUICK_REPORT,
    "allAckInSyncStateSet": "true",
    "registerNameServerPeriod": "10000",  # the only source of a new master's address for slaves
    "mappedFileSizeCommitLog": str(16 << 20),
}
TOPIC, ROUTED_TOPIC = "FailsOver", "TBW102"
SEND, PULL, ROUTE = 310, 11, 105
PAUSE_S = 0.01
SEND_TIMEOUT_S = 3.0
AFTER = 200
"""How many sends are acknowledged after each step, before the next: over 32 KiB.

The frame that ends an epoch names the next one: a slave never learns of an epoch that is in one.
"""
SAFE_S = 100.0
"""A bound for what takes a slave up to 30 s: it asks for its master, connects and reports."""
_EPOCHS = "epochFileCheckpoint"

JVM = (*SMALL_JVM, "-XX:MaxDirectMemorySize=1g")
"""With 256 MB of it, as much as of heap, a broker runs out of it while clients pop."""

Replica: TypeAlias = JavaReplica | FakeBroker


class Controller(NamedTuple):
    """A controller inside its name server."""

    namesrv_addr: str
    addr: str
    node: JavaController | FakeNode


class Outcome(NamedTuple):
    """What a producer saw in a course, and what was left."""

    mixture: str
    course: str
    acknowledged: int
    lost: int
    gaps_ms: tuple[int, ...]
    """For each step that took the master away, the time without an acknowledgement."""
    epochs: int
    """How many epochs the course took; a failed election takes some, too."""
    log_bytes: int
    """Where the logs end, which are equal."""


class Producer(threading.Thread):
    """Sends a message each 10 ms to the master of the route, and asks again whenever it fails."""

    def __init__(self, namesrv_addr: str, prefix: str) -> None:
        super().__init__(daemon=True)
        self._namesrv_addr = namesrv_addr
        self._prefix = prefix
        self._ends = threading.Event()
        self.acknowledged: list[tuple[float, bytes]] = []

    def run(self) -> None:
        numbers = count()
        while not self._ends.wait(PAUSE_S):
            with suppress(OSError):  # a master, or a name server, that is gone
                self._send_until_one_fails(numbers)

    def _send_until_one_fails(self, numbers: Iterator[int]) -> None:
        addr = master_addr(self._namesrv_addr)
        if not addr:
            return
        with RawConnection(addr, SEND_TIMEOUT_S) as connection:
            while not self._ends.wait(PAUSE_S):
                body = f"{self._prefix} {next(numbers)}".encode()
                answer = connection.call(frame(SEND, texts(send_v2_fields(TOPIC)), body))
                if json_header(answer)["code"] != 0:
                    return
                self.acknowledged.append((time.monotonic(), body))

    def wait(self, more: int = AFTER) -> None:
        """Wait until this number of sends more is acknowledged."""
        wanted = len(self.acknowledged) + more
        wait_until(lambda: len(self.acknowledged) >= wanted, SAFE_S)

    def stop(self) -> None:
        self._ends.set()
        if self.is_alive():
            self.join()

    def gap_ms(self, begin_s: float, end_s: float) -> int:
        """Return the longest time without an acknowledgement that touches these two times."""
        pairs = pairwise(one for one, _ in self.acknowledged)
        gaps = (after - before for before, after in pairs if after > begin_s and before < end_s)
        return round(max(gaps) * 1000)


# -- nodes ------------------------------------------------------------------------------------


@contextmanager
def java_controller() -> Iterator[Controller]:
    with JavaControllers() as real:
        (node,) = real.controllers
        yield Controller(node.namesrv_addr, node.addr, node)


@contextmanager
def fake_controller() -> Iterator[Controller]:
    addr, namesrv_addr = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory(prefix="controller-") as home:
        config = {
            "enableControllerInNamesrv": "true",
            "controllerDLegerGroup": "group",
            "controllerDLegerPeers": f"n0-{addr}",
            "controllerDLegerSelfId": "n0",
            "controllerStorePath": home,
            "listenPort": namesrv_addr.rpartition(":")[2],
        }
        node = FakeNode("namesrv", "--reference", NEWEST, config=config)
        try:
            node.start()
            yield Controller(namesrv_addr, addr, node)
        finally:
            node.kill()


def replica(kind: str, home: Path, controller: Controller) -> Replica:
    """Return a replica of either kind that is not started yet."""
    if kind == "j":
        java = JavaReplica(home, [controller.namesrv_addr], [controller.addr], JVM)
        java.config |= CONFIG
        return java
    fake = FakeBroker("broker-a", home, controller.namesrv_addr, NEWEST)
    fake.config |= {"enableControllerMode": "true", "controllerAddr": controller.addr, **CONFIG}
    return fake


class Group:
    """A controller and its replicas, all in the set. A context manager."""

    def __init__(self, mixture: str, home: Path) -> None:
        self.mixture = mixture
        self._home = home
        self._stack = ExitStack()
        self.replicas: list[Replica] = []
        self.controller: Controller

    def __enter__(self) -> Group:
        with self._stack:
            which, _, kinds = self.mixture.partition(":")
            started = java_controller() if which == "j" else fake_controller()
            self.controller = self._stack.enter_context(started)
            for number, kind in enumerate(kinds):
                one = replica(kind, self._home / str(number), self.controller)
                self._stack.callback(one.kill)
                self.replicas.append(one)
            self.start_all()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def start_all(self) -> None:
        """Start those that do not run; on return everyone is in the set."""
        ended = [one for one in self.replicas if not one.running]
        with ThreadPoolExecutor(len(self.replicas)) as pool:
            for _ in pool.map(lambda one: one.start(), ended):
                pass
        self.wait_safe(len(self.replicas))

    def wait_safe(self, members: int) -> None:
        """Wait until this number of live members is in the set, and the master in the routes."""

        def safe() -> bool:
            with suppress(OSError, ValueError):  # a controller that starts, or does not lead yet
                found = replicas_info(self.controller.addr)
                alive = [row for row in found.get("inSyncReplicas", ()) if row["alive"]]
                routed = master_addr(self.controller.namesrv_addr)
                return len(alive) >= members and routed == found.get("masterAddress")
            return False

        wait_until(safe, SAFE_S)

    def master(self) -> Replica:
        """Return the replica that the controller names."""
        addr = replicas_info(self.controller.addr)["masterAddress"]
        (found,) = (one for one in self.replicas if one.addr == addr)
        return found

    def epoch(self) -> int:
        return int(replicas_info(self.controller.addr)["masterEpoch"])


def master_addr(namesrv_addr: str) -> str:
    """Return the master of a route; empty where there is none."""
    _, _, body = split(call(namesrv_addr, frame(ROUTE, {"topic": ROUTED_TOPIC})))
    datas = TopicRouteData.decode(body).broker_datas if body else []
    return next((data.broker_addrs[0] for data in datas if 0 in data.broker_addrs), "")


# -- courses ----------------------------------------------------------------------------------


def run_course(group: Group, course: str) -> Outcome:
    """Take the steps of a course under sends. Raises AssertionError if the replicas differ."""
    epoch = group.epoch()
    producer = Producer(group.controller.namesrv_addr, course)
    producer.start()
    try:
        producer.wait()
        taken = [_take(step, group, producer) for step in COURSES[course]]
        group.start_all()
    finally:
        producer.stop()
    return Outcome(
        group.mixture,
        course,
        len(producer.acknowledged),
        len(missing_at(group.master().addr, producer)),
        tuple(producer.gap_ms(*span) for span in taken if span),
        group.epoch() - epoch,
        equal_bytes(group),
    )


def _take(step: str, group: Group, producer: Producer) -> tuple[float, float] | None:
    """Take a step; return when it began, and when another master served. None if it stays."""
    if step == "controller":
        group.controller.node.kill()
        producer.wait()  # a master needs no controller to acknowledge
        group.controller.node.start()
        group.wait_safe(2)
        return None
    master = group.master()
    began_s = time.monotonic()
    if step == "kill":
        master.kill()
    else:
        master.pause()
    producer.wait()
    served_s = time.monotonic()
    if step == "pause":
        master.resume()
    group.wait_safe(min(2, sum(one.running for one in group.replicas)))
    return began_s, served_s


def missing_at(addr: str, producer: Producer) -> set[bytes]:
    """Return what was acknowledged and is not at a broker. Raises AssertionError if it refuses."""
    wait_dispatched(addr)
    found: set[bytes] = set()
    offset = 0
    with RawConnection(addr) as connection:
        while True:
            answer = connection.call(frame(PULL, texts(pull_fields(TOPIC, offset))))
            header, (_, _, records) = json_header(answer), split(answer)
            if header["code"] == ResponseCode.PULL_NOT_FOUND:  # the end of the queue
                break
            assert header["code"] == ResponseCode.SUCCESS, f"{addr} at offset {offset}: {header}"
            messages = decode_records(records)
            found.update(one.body for one in messages)
            offset = messages[-1].queue_offset + 1
    return {body for _, body in producer.acknowledged} - found


def equal_bytes(group: Group) -> int:
    """Return where all logs end. Raises AssertionError if these, or the epochs, differ.

    Everyone is in the set and nothing is sent, so that the ends are the confirm offsets, too.
    """
    nodes = [Node(group.controller.namesrv_addr, one.addr, one.store) for one in group.replicas]
    wait_until(lambda: len({log_end(one) for one in nodes}) == 1, SAFE_S)
    first, *others = (log_of(one) for one in nodes)
    assert all(one == first for one in others), f"{group.mixture}: logs differ"
    epochs = [epochs_of(one) for one in nodes]
    shortest = min(map(len, epochs))
    assert len({tuple(one[:shortest]) for one in epochs}) == 1, f"{group.mixture}: {epochs}"
    return log_end(nodes[0])


def epochs_of(node: Node) -> list[str]:
    """Return the epochs of a replica's file, each with its first offset."""
    _, _, *entries = (node.store / _EPOCHS).read_text().splitlines()
    return entries


def run_mixture(mixture: str, courses: Sequence[str], home: Path) -> list[Outcome]:
    """Run courses on a mixture of its own, one after the other."""
    with Group(mixture, home) as group:
        return [run_course(group, one) for one in courses]


# -- command ----------------------------------------------------------------------------------

_HEAD = ("mixture", "course", "acknowledged", "lost", "gaps, ms", "epochs", "log, bytes")


def _row(values: Sequence[object]) -> str:
    return "| " + " | ".join(map(str, values)) + " |"


def main(arguments: list[str] | None = None) -> int:
    """Run mixtures one after the other; the exit code is the number of courses that lost something
    or had replicas that differ."""
    parser = argparse.ArgumentParser(prog="python -m conformance.fail_overs")
    parser.add_argument("--course", choices=COURSES, action="append", help="all if none is named")
    parser.add_argument("mixtures", nargs="*", help=f"of {', '.join(MIXTURES)}; all if none")
    options = parser.parse_args(arguments)
    if unknown := set(options.mixtures) - set(MIXTURES):
        parser.error(f"no mixture {', '.join(sorted(unknown))}; there are {', '.join(MIXTURES)}")
    print(_row(_HEAD), _row(["---"] * len(_HEAD)), sep="\n", flush=True)
    wrong = 0
    for mixture in options.mixtures or MIXTURES:
        with (
            tempfile.TemporaryDirectory(prefix="fail-overs-") as home,
            Group(mixture, Path(home)) as group,
        ):
            for course in options.course or COURSES:
                try:
                    found = run_course(group, course)
                except (AssertionError, TimeoutError) as error:
                    print(_row((mixture, course, f"failed: {error!r}")), flush=True)
                    wrong += 1
                    break  # the replicas may differ from now on
                gaps = ", ".join(map(str, found.gaps_ms))
                print(_row((*found[:4], gaps, *found[5:])), flush=True)
                wrong += bool(found.lost)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
