"""A master and its slave, each Java's or ours: brokers that tests kill, pause and start anew.

``with pair("java", "fake", home, config) as (namesrv_addr, master, slave)`` has the master run
already; the slave, which the name server would tell of its master, is for the test to start.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import Barrier
from typing import NamedTuple, Protocol, TypeVar

import fakemq
from conformance.targets.free_ports import free_port
from conformance.targets.java_cluster import (
    SMALL_JVM,
    JavaBroker,
    JavaCluster,
    JavaNode,
    wait_until,
)
from conformance.targets.java_jars import REFERENCE
from conformance.targets.processes import FakemqProcess, routed
from conformance.targets.replicas import Reader
from conformance.targets.runtime_info import runtime_info
from conformance.targets.stopped_process import stop_process
from conformance.wire.raw import RawConnection, call, create_topic, frame, split
from fakemq.handles.brokers import BrokerHandle
from fakemq.protocol.bodies.route import TopicRouteData

_GET_ROUTEINFO_BY_TOPIC = 105
_DEFAULT_TOPIC = "TBW102"
_ROUTED_S = 60.0
SLAVE = {"brokerRole": "SLAVE", "brokerId": "1"}
QUICK_REPORT = {"haSendHeartbeatInterval": "1000"}
"""With this a slave reports one second after it has connected, and not five."""
T = TypeVar("T")


class Node(Protocol):
    """What a test does to a broker; ``config`` counts from the next start."""

    config: dict[str, str]

    @property
    def addr(self) -> str: ...

    def start(self) -> None:
        """Start on the same port and store as before, and wait until it serves."""

    def stop(self) -> None:
        """SIGTERM, or what is like it, and wait for the end."""

    def kill(self) -> None:
        """SIGKILL, or what is like it; one that does not run stays so."""

    def pause(self) -> None:
        """SIGSTOP, or what is like it."""

    def resume(self) -> None: ...


class Pair(NamedTuple):
    """A master and its slave at one name server."""

    namesrv_addr: str
    master: Node
    slave: Node


def make_topic(nodes: Pair, topic: str, queues: int) -> None:
    """Create a topic at the master; on return the name server has its route."""
    create_topic(nodes.master.addr, topic, queues)
    wait_until(lambda: bool(routed(nodes.namesrv_addr, topic)), _ROUTED_S)


class FakeNode:
    """``fakemq WORDS`` as a process of its own; on each start with ``config``, and a new home."""

    def __init__(self, *words: str, config: Mapping[str, str]) -> None:
        self._words = words
        self._process: FakemqProcess | None = None
        self.config = dict(config)

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.process.poll() is None

    def start(self) -> None:
        config = [f"{key}={value}" for key, value in self.config.items()]
        self._process = FakemqProcess(*self._words, config=config)
        self._process.__enter__()

    def stop(self) -> None:
        assert self._process is not None
        assert self._process.terminate() == 0
        self.kill()

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.close()

    def pause(self) -> None:
        stop_process(self._pid)

    def resume(self) -> None:
        os.kill(self._pid, signal.SIGCONT)

    @property
    def _pid(self) -> int:
        assert self._process is not None
        return self._process.process.pid


class FakeBroker(FakeNode):
    """``fakemq broker``, with its store below ``home``."""

    def __init__(self, name: str, home: Path, namesrv_addr: str, version: str = REFERENCE) -> None:
        self.store = home / "store"
        config = {
            "brokerName": name,
            "listenPort": str(free_port(broker=True)),
            "brokerIP1": "127.0.0.1",
            "brokerIP2": "127.0.0.1",
            "storePathRootDir": str(self.store),
        }
        super().__init__("broker", "-n", namesrv_addr, "--reference", version, config=config)

    @property
    def addr(self) -> str:
        return f"127.0.0.1:{self.config['listenPort']}"


class Member:
    """A broker of a cluster in this process."""

    def __init__(self, handle: BrokerHandle) -> None:
        self._handle = handle
        self.config: dict[str, str] = {}
        self.stop = handle.stop
        self.kill = handle.kill
        self.pause = handle.pause
        self.resume = handle.resume

    @property
    def addr(self) -> str:
        return self._handle.addr

    def start(self) -> None:
        self._handle.restart(self.config)


@contextmanager
def name_server(kind: str, home: Path, version: str = REFERENCE) -> Iterator[JavaNode]:
    """A ``java`` or ``fake`` name server; of the latter, what a Java broker has to know."""
    if kind == "java":
        with JavaCluster(masters=0, version=version) as real:
            yield real.namesrv
    else:
        words = ("namesrv", "--reference", version)
        with FakemqProcess(*words, config=["listenPort=0"]) as fake:
            yield JavaNode("fake", home, "", int(fake.namesrv_addr.rpartition(":")[2]), ())


def broker(
    kind: str, name: str, home: Path, namesrv: JavaNode, version: str = REFERENCE
) -> JavaBroker | FakeBroker:
    """A ``java`` or ``fake`` broker that is not started yet."""
    if kind == "java":
        return JavaBroker(name, home, namesrv, SMALL_JVM, version)
    return FakeBroker(name, home, namesrv.addr, version)


@contextmanager
def pair(
    master: str, slave: str, home: Path, config: Mapping[str, str], version: str = REFERENCE
) -> Iterator[Pair]:
    """A broker-a of each kind, ``java`` or ``fake``; the name server is of the master's kind."""
    with name_server(master, home, version) as namesrv:
        first = broker(master, "broker-a", home / "master", namesrv, version)
        second = broker(slave, "broker-a", home / "slave", namesrv, version)
        first.config |= config
        second.config |= {**config, **SLAVE}
        try:
            first.start()
            yield Pair(namesrv.addr, first, second)
        finally:
            first.kill()
            second.kill()


@contextmanager
def pair_in_one_process(config: Mapping[str, str]) -> Iterator[Pair]:
    """Master and slave of a `fakemq.Cluster`, over links in memory."""
    with fakemq.Cluster(slaves=1, config=dict(config)) as cluster:
        slave = Member(cluster.broker("broker-a-1"))
        slave.kill()
        yield Pair(cluster.namesrv_addr, Member(cluster.broker("broker-a-0")), slave)


OpenPair = Callable[[Path, Mapping[str, str]], AbstractContextManager[Pair]]
PAIRS: dict[str, OpenPair] = {
    "java": lambda home, config: pair("java", "java", home, config),
    "fake master, java slave": lambda home, config: pair("fake", "java", home, config),
    "java master, fake slave": lambda home, config: pair("java", "fake", home, config),
    "fake": lambda home, config: pair("fake", "fake", home, config),
    "one process": lambda home, config: pair_in_one_process(config),
}
"""Below a folder, with a config: where a test asks every kind the same."""


def side_by_side(
    run: Callable[[Pair], T],
    home: Path,
    config: Mapping[str, str],
    names: Collection[str] = PAIRS.keys(),
) -> dict[str, T]:
    """Return what ``run`` returns for each of `PAIRS`, or for those of ``names``.

    All begin when the last pair is there: a machine that starts JVMs has no time for anything else.
    """
    all_there = Barrier(len(names), timeout=_ROUTED_S)

    def run_one(name: str) -> T:
        folder = home / name.replace(", ", "-").replace(" ", "-")
        folder.mkdir()
        try:
            with PAIRS[name](folder, config) as nodes:
                all_there.wait()
                return run(nodes)
        except BaseException as error:
            error.add_note(f"pair: {name}")
            raise

    with ThreadPoolExecutor(len(names)) as pool:
        return dict(zip(names, pool.map(run_one, names), strict=True))


def max_offset(addr: str, topic: str, queue_id: int = 0) -> int:
    """Return where a broker says that a queue ends."""
    with RawConnection(addr) as connection:
        return Reader(connection).end(topic, queue_id)


def gets(addr: str) -> int:
    """Return how many messages a broker has given to consumers today."""
    return int(runtime_info(addr)["msgGetTotalTodayNow"])


def broker_ids(namesrv_addr: str, name: str = "broker-a") -> list[int]:
    """Return the ids of the brokers of a name at the name server."""
    fields = {"topic": _DEFAULT_TOPIC}
    _, _, body = split(call(namesrv_addr, frame(_GET_ROUTEINFO_BY_TOPIC, fields)))
    datas = TopicRouteData.decode(body).broker_datas
    return sorted(int(id) for data in datas if data.broker_name == name for id in data.broker_addrs)
