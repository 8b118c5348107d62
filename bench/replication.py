"""A master and its slave beside Java's pair: sends that wait for the slave, and catching up."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench.benchmark import run
from bench.fill import fill_with_batches
from bench.measure import Figure, Plan, Round, compared
from bench.process import running, served
from bench.rivals import JAVA_CONFIG, MEMORY_LIMIT, Rivals, Side, java_slave, require_in_step
from conformance.targets.java_cluster import JavaCluster
from conformance.wire.raw import RawConnection, frame, split
from fakemq.cluster import Cluster
from fakemq.protocol.codes import RequestCode

THREADS = 16
TOPIC, QUEUES = "orders", 8
MESSAGES, BODY = 400_000, b"x" * 1024
"""The size of the replicated log: less than one file, so an empty slave receives all of it."""
LOOK_S = 0.01
ATTACH_TIMEOUT_S = 120.0
"""A slave connects after up to 5 s, and reports the end of its log 5 s later."""
_MIB = 1 << 20
_SENDS = f"sends/s, {THREADS} threads, SYNC_MASTER"
_TCP, _MEMORY = "replicated to a new slave over TCP", "the same within one process"


def figures(plan: Plan) -> Iterator[Figure]:
    """Measure sends by the same client, then catching up on the same log; nothing without Java."""
    measures = {_TCP: over_tcp, _MEMORY: within_a_process}
    wanted = {name: measure for name, measure in measures.items() if plan.wants(name)}
    if plan.java and plan.wants(_SENDS):
        first = plan.part(0.5) if wanted else plan
        with Rivals(slaves=1, brokerRole="SYNC_MASTER") as rivals:
            options = ("--slaves", "1", "--role", "SYNC_MASTER")
            found = first.repeat(lambda: rivals.once(_sends, *options))
        yield compared("replication", _SENDS, found[_SENDS], "/s", at_least=1.0)
    if plan.java and wanted:

        def once() -> dict[str, Round]:
            java = _java()
            return {name: Round(java=java, fake=measure()) for name, measure in wanted.items()}

        for name, rounds in plan.repeat(once).items():
            note = f"{MESSAGES:,} messages of 1 KiB; Java's slave is a new JVM"
            yield compared("replication", name, rounds, "MiB/s", at_least=1.0, note=note)


def _sends(side: Side) -> dict[str, float]:
    """The producer ignores statuses: a check before and after it requires SEND_OK."""
    per_second = run("Producer", side.namesrv_addr, side.topic, "-w", str(THREADS))["Send TPS"]
    require_in_step(side.namesrv_addr, side.topic)
    return {_SENDS: per_second}


# -- a slave catching up ----------------------------------------------------------------------


def _java() -> float:
    topics = {TOPIC: QUEUES}
    with JavaCluster(jvm=(), config=JAVA_CONFIG, topics=topics) as cluster:
        (master,) = cluster.brokers
        _fill(master.addr)
        slave = java_slave(cluster, 1)
        return mib_per_s(log_end(master.addr), looks(slave.addr))


def over_tcp() -> float:
    """Measure a fake slave of a fake master, in two processes."""
    with served(*MEMORY_LIMIT, "--topic", f"{TOPIC}:{QUEUES}") as master:
        _fill(master.broker_addr)
        with _slave(master.namesrv_addr) as addr:
            return mib_per_s(log_end(master.broker_addr), looks(addr))


def within_a_process(messages: int = MESSAGES) -> float:
    """Measure a cluster's own slave that lost everything, on a clock that does not wait for it."""
    topics = {TOPIC: QUEUES}
    with Cluster(slaves=1, topics=topics, clock="frozen", memory_limit="4GiB") as mq:
        master, slave = mq.broker("broker-a-0"), mq.broker("broker-a-1")
        slave.kill()
        _fill(master.addr, messages)
        slave.restart()
        begin = time.perf_counter()
        mq.clock.advance("11s")
        passed_s = time.perf_counter() - begin
        end, has = log_end(master.addr), log_end(slave.addr)
    if has != end:
        raise ValueError(f"after 11 s the slave's log ends at {has}, its master's at {end}")
    return end / _MIB / passed_s


def _fill(addr: str, messages: int = MESSAGES) -> None:
    fill_with_batches(addr, TOPIC, QUEUES, messages, BODY)


@contextmanager
def _slave(namesrv_addr: str) -> Iterator[str]:
    """Run a slave of broker-a in its own process; yield its address."""
    config = {
        "brokerName": "broker-a",
        "brokerId": "1",
        "brokerRole": "SLAVE",
        "listenPort": "0",
        "brokerIP1": "127.0.0.1",
        "brokerIP2": "127.0.0.1",
    }
    with TemporaryDirectory(prefix="fakemq-bench-") as folder:
        path = Path(folder, "slave.conf")
        path.write_text("".join(f"{key}={value}\n" for key, value in config.items()))
        with running("broker", "-c", str(path), "-n", namesrv_addr) as slave:
            yield slave.addr_of("broker-a-1")


class Look(NamedTuple):
    """One reading of a broker: the time, the end of its log, and the bytes not yet in queues."""

    at_s: float
    log_end: int
    behind_bytes: int


def looks(addr: str) -> Iterator[Look]:
    """Read a broker's state repeatedly. Raise TimeoutError if the slave does not catch up."""
    begin = time.perf_counter()
    with RawConnection(addr, ATTACH_TIMEOUT_S) as connection:
        while time.perf_counter() - begin < ATTACH_TIMEOUT_S:
            yield _look(connection)
            time.sleep(LOOK_S)  # another process has no event to wait for
    raise TimeoutError(f"the slave at {addr} is not level within {ATTACH_TIMEOUT_S:g} s")


def log_end(addr: str) -> int:
    """Return where a broker's log ends now."""
    with RawConnection(addr) as connection:
        return _look(connection).log_end


def _look(connection: RawConnection) -> Look:
    _, _, body = split(connection.call(frame(RequestCode.GET_BROKER_RUNTIME_INFO)))
    # Java has no samples in its first second, and answers with code 1.
    info = json.loads(body)["table"] if body else {}
    end, behind_bytes = info.get("commitLogMaxOffset", 0), info.get("dispatchBehindBytes", 0)
    return Look(time.perf_counter(), int(end), int(behind_bytes))


def mib_per_s(end: int, seen: Iterable[Look]) -> float:
    """Return how fast a log and its queues grew, from the first reading to ``end``.

    Raise ValueError if there was no reading during the growth.
    """
    first: Look | None = None
    for look in seen:
        if look.log_end and first is None:
            first = look
        if look.log_end == end and not look.behind_bytes:
            break
    else:
        raise ValueError(f"the log has not come to {end}")
    if first is None or first is look:
        raise ValueError(f"the log was at {end} before it was seen on its way there")
    return (end - first.log_end) / _MIB / (look.at_s - first.at_s)
