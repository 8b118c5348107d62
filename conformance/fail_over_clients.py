"""``python -m conformance.fail_over_clients``: clients of every kind while their master dies.

A producer and a consumer of each kind work side by side: Java's of 5.5.0 by the remoting protocol
with its defaults, and RocketMQ 5's gRPC clients in Java, Go, Node, Python and Rust. Their group has
three replicas under a controller: ours with our front, or Java's with a real proxy. The master is
killed once, while all of them send. Nothing that was acknowledged may be lost; what comes twice is
counted.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TypeAlias

import fakemq
from conformance.drivers.drivers import DriverError, Received
from conformance.drivers.grpc_python_program import GrpcPythonProgram, client_folder
from conformance.drivers.java_program import SMALL_JVM, JavaConsumer, JavaProducer, JavaProgram
from conformance.drivers.official_clients import CLIENTS, OfficialClient, observe
from conformance.drivers.v5_clients import Where
from conformance.fail_overs import Group, master_addr
from conformance.targets.java_cluster import wait_until
from conformance.targets.java_jars import NEWEST, class_path
from conformance.targets.java_proxy import java_proxy
from conformance.targets.processes import together
from conformance.targets.replicas import Node, tables
from conformance.wire.raw import create_topic

SECONDS = 75
"""How long clients send: over twice as long as a Java producer takes to ask for the route again."""
COPIED_S = 90.0
"""A bound for slaves that copy the tables of their master each 12 s."""
SENT = 10
"""How many sends of each kind are acknowledged just before the master is killed, and after it."""
SENT_S = 30.0
"""A bound for these, which take a second or two."""
DEFAULTS = (*SMALL_JVM, "-Dconformance.patience=3000")
"""The time-outs of Java's clients, which the programs of tests have longer."""
TOPIC, SCENARIO = "RemotingFailOver", "failover"
QUIET_S = 15.0
"""After that what a consumer has not acknowledged has come again."""


class Place(NamedTuple):
    """A group of three replicas, where clients reach it, and what kills its master."""

    where: Where
    addrs: Sequence[str]
    """Of the replicas."""
    fail_over: Callable[[], None]


class Seen(NamedTuple):
    """What a producer had acknowledged, and how often each message came."""

    sent: frozenset[str]
    received: Counter[str]
    before: int = 0
    """How many of the acknowledgements came before the master was killed."""

    @property
    def after(self) -> int:
        return len(self.sent) - self.before

    @property
    def lost(self) -> int:
        return len(self.sent - self.received.keys())

    @property
    def twice(self) -> int:
        return self.received.total() - len(self.received)


@contextmanager
def ours() -> Iterator[Place]:
    """Three replicas, a controller and a front in this process; time passes as outside."""
    with fakemq.Cluster(
        reference=NEWEST, controllers=1, slaves=2, grpc=True, config={"allAckInSyncStateSet": True}
    ) as mq:
        replicas = mq.group_of("broker-a").replicas

        def fail_over() -> None:
            dead = mq.broker("broker-a")
            mq.failover("broker-a")
            dead.restart()

        addrs = [mq.broker(one).addr for one in replicas]
        yield Place(Where(mq.namesrv_addr, mq.grpc_addr), addrs, fail_over)


@contextmanager
def real() -> Iterator[Place]:
    """Three of Java's replicas, its controller and its proxy."""
    with (
        tempfile.TemporaryDirectory(prefix="fail-over-clients-") as home,
        Group("j:jjj", Path(home)) as group,
        java_proxy(group.controller.namesrv_addr) as proxy,
    ):

        def fail_over() -> None:
            group.master().kill()
            group.wait_safe(2)
            group.start_all()

        addrs = [one.addr for one in group.replicas]
        yield Place(Where(group.controller.namesrv_addr, proxy.addr), addrs, fail_over)


# -- clients ----------------------------------------------------------------------------------


class Progress:
    """What a kind of clients has done so far; ``sent`` returns its number of acknowledgements."""

    def __init__(self) -> None:
        self.sent: Callable[[], int] = lambda: 0

    def follow(self, lines: Callable[[], Sequence[str]]) -> None:
        """Count the acknowledgements among the lines that a program prints."""
        self.sent = lambda: len(_seen(lines()).sent)


Kind: TypeAlias = Callable[[Where, int, Progress], Seen]


def remoting(where: Where, seconds: int, progress: Progress) -> Seen:
    """A DefaultMQProducer and a DefaultMQPushConsumer with their defaults."""
    create_topic(master_addr(where.namesrv_addr), TOPIC, 4)
    producer = JavaProducer(where.namesrv_addr, TOPIC, "GSends", 10, NEWEST, jvm=DEFAULTS)
    consumer = JavaConsumer(where.namesrv_addr, TOPIC, "GHears", version=NEWEST, jvm=DEFAULTS)
    with together(producer, consumer):
        progress.sent = lambda: len([one for one in producer.acks if one.status == "SEND_OK"])
        producer.go()
        time.sleep(seconds)  # what is to happen meanwhile is for others to do
        producer.stop()
        sent = frozenset(one.id for one in producer.acks if one.status == "SEND_OK")
        received = consumer.received
        with suppress(TimeoutError):  # what is missing is lost
            wait_until(lambda: sent <= {one.id for one in received}, 2 * QUIET_S)
        wait_until(lambda: is_quiet(received), 3 * QUIET_S)
        return Seen(sent, Counter(one.id for one in received))


def is_quiet(received: Sequence[Received]) -> bool:
    """Return whether nothing has come for `QUIET_S`; where nothing ever came, all is lost."""
    return not received or received[-1].at_ms < (time.time() - QUIET_S) * 1000


def java(where: Where, seconds: int, progress: Progress) -> Seen:
    jvm = (*SMALL_JVM, f"-Dconformance.proxy={where.grpc_addr}", f"-Dconformance.seconds={seconds}")
    with JavaProgram(where.namesrv_addr, NEWEST, jvm=jvm, extra="grpc") as program:
        progress.follow(lambda: program.observed(f"grpc{SCENARIO}"))
        return _seen(program.observe(f"grpc{SCENARIO}"))


def python(where: Where, seconds: int, progress: Progress) -> Seen:
    with GrpcPythonProgram(
        where.namesrv_addr, where.grpc_addr, CONFORMANCE_SECONDS=str(seconds)
    ) as program:
        progress.follow(lambda: program.observed(f"py{SCENARIO}"))
        return _seen(program.observe(f"py{SCENARIO}"))


def official(client: OfficialClient) -> Kind:
    def run(where: Where, seconds: int, progress: Progress) -> Seen:
        lines: list[str] = []
        progress.follow(lambda: list(lines))
        found = observe(
            *(client, where, [SCENARIO], lines.append), CONFORMANCE_SECONDS=str(seconds)
        )[SCENARIO]
        if found.failure:
            raise DriverError(f"{client.name}: {found.failure}")
        return _seen(found.lines)

    return run


def _seen(lines: Sequence[str]) -> Seen:
    said = [line.split(": ") for line in lines]
    return Seen(
        frozenset(key for what, key in said if what == "sent"),
        Counter(key for what, key in said if what == "received"),
    )


KINDS: Mapping[str, Kind] = {
    "remoting": remoting,
    "java": java,
    "python": python,
    **{one.name: official(one) for one in CLIENTS},
}
"""By name: what makes a producer and a consumer work for seconds, and until all has come."""


# -- runs -------------------------------------------------------------------------------------


def run(place: Place, kinds: Collection[str], seconds: int = SECONDS) -> dict[str, Seen]:
    """Let clients work side by side, and kill their master once, while all of them send.

    Raises DriverError, also if some do not send any more when all topics are copied.
    """
    _build(kinds)
    progress = {kind: Progress() for kind in kinds}
    with ThreadPoolExecutor(len(kinds)) as pool:
        working = {
            kind: pool.submit(KINDS[kind], place.where, seconds, progress[kind]) for kind in kinds
        }
        wait_until(_all_copied(place, working.values()), COPIED_S)
        _wait_sending(progress)
        before = {kind: one.sent() for kind, one in progress.items()}
        place.fail_over()
        return {kind: one.result()._replace(before=before[kind]) for kind, one in working.items()}


def _build(kinds: Collection[str]) -> None:
    """Build the programs first: all are to send at one time, and a build takes minutes."""
    for client in CLIENTS:
        if client.name in kinds:
            client.command()
    if "java" in kinds:
        class_path(NEWEST, "grpc")
    if "python" in kinds:
        client_folder()


def _wait_sending(progress: Mapping[str, Progress]) -> None:
    """Wait until each kind has `SENT` acknowledgements more than now. Raises DriverError."""
    wanted = {kind: one.sent() + SENT for kind, one in progress.items()}

    def silent() -> list[str]:
        return [kind for kind, one in progress.items() if one.sent() < wanted[kind]]

    try:
        wait_until(lambda: not silent(), SENT_S)
    except TimeoutError:
        text = f"{', '.join(silent())}: fewer than {SENT} acknowledgements in {SENT_S:g} s"
        raise DriverError(f"{text}; clients that have sent all need more seconds") from None


def _all_copied(place: Place, working: Collection[Future[Seen]]) -> Callable[[], bool]:
    """Return a condition: all replicas have the topics of all clients. It raises their errors.

    What is made just before a fail-over is lost with the master: slaves copy it each 12 s.
    """

    def has_topics(addr: str) -> bool:
        found = tables(Node(place.where.namesrv_addr, addr, Path()))["topics"]["topicConfigTable"]
        made = [one for one in found if one.lower().partition("_")[0].endswith(SCENARIO)]
        return len(made) >= len(working)

    def all_copied() -> bool:
        for one in working:
            if one.done():
                one.result()
        return all(map(has_topics, place.addrs))

    return all_copied


def main(arguments: list[str] | None = None) -> int:
    """Run clients at Java's group and at ours.

    The exit code is the number that lost messages, or did not send before the kill and after it.
    """
    parser = argparse.ArgumentParser(prog="python -m conformance.fail_over_clients")
    parser.add_argument("--only", choices=("java", "ours"), help="one of the groups")
    parser.add_argument("kinds", nargs="*", help=f"of {', '.join(KINDS)}; all if none")
    options = parser.parse_args(arguments)
    if unknown := set(options.kinds) - KINDS.keys():
        parser.error(f"no clients {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}")
    print(
        "| clients | group | acknowledged before | after | lost | came twice |",
        "|---|---|---|---|---|---|",
        sep="\n",
        flush=True,
    )
    wrong = 0
    for name, place in (("java", real), ("ours", ours)):
        if options.only not in (None, name):
            continue
        with place() as there:
            for kind, seen in run(there, options.kinds or list(KINDS)).items():
                cells = kind, name, seen.before, seen.after, seen.lost, seen.twice
                print("|", " | ".join(map(str, cells)), "|")
                wrong += seen.lost > 0 or min(seen.before, seen.after) < SENT
    return wrong


if __name__ == "__main__":
    sys.exit(main())
