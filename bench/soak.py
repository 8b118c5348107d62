"""``python -m bench.soak``: an hour of mixed Java traffic, with restarts, in ten minutes.

With ``--hours 24`` it is a day with attackers instead, without Java (`bench.attacked_soak`).

After each second the cluster's clock advances by five seconds, also for outside peers, and the
intervals of the Java clients are six times shorter. In each round clients start, stop and are
killed; brokers are killed, stopped, paused and started again; a topic is created and deleted. Every
group has to receive all acknowledged messages. Then the cluster is reset, and what remains is
counted: it must not grow.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import msgspec

from bench.attacked_soak import MUST_BE_ZERO, WARM_UP, AttackedSoak
from bench.machine import describe_machine
from bench.measure import missed
from bench.plot import draw
from bench.soak_clients import CONCURRENT, ORDERED, ORDERLY, TOPIC, SoakHearer, SoakSender
from bench.soaking import TOLERANCE, Sample, figures, sample
from bench.table import HEADER, line, report
from conformance.targets.java_cluster import wait_until
from conformance.targets.java_jars import CLIENT_VERSIONS
from conformance.targets.processes import together
from fakemq import Cluster

PACE = 6
"""Seconds of the cluster's time in one real second."""
PER_SECOND = 180
"""Messages a second of the lasting senders, that is 30 a second of the cluster's time."""
ROUND_S = 30.0
DRAIN_S = 90.0
"""The longest wait for the last messages of a round: delays, retries and checks."""
QUEUES = 4
BUILD = Path(__file__).parents[1] / "build" / "soak"


class Tally(msgspec.Struct):
    """Counters of what was done."""

    rounds: int = 0
    acknowledged: int = 0
    received: int = 0
    retries: int = 0
    failed_sends: int = 0
    brokers_down: int = 0
    clients_killed: int = 0
    clients_stopped: int = 0
    virtual_s: float = 0
    slowest_drain_s: float = 0


class Soak:
    """One cluster with two masters, a lasting sender and receiver of each version, and guests."""

    def __init__(self, minutes: float, round_s: float, per_second: int) -> None:
        self.tally = Tally()
        self.samples: list[Sample] = []
        self._minutes, self._round_s, self._per_second = minutes, round_s, per_second
        self._mq = Cluster(masters=2, topics={TOPIC: QUEUES, ORDERED: QUEUES})
        self._senders: list[SoakSender] = []
        self._hearers: list[SoakHearer] = []

    def run(self, tell: Callable[[Sample], None] = lambda sample: None) -> None:
        """Run rounds until the time is over, at least three. AssertionError names lost messages."""
        with self._mq:
            rate = self._per_second // len(CLIENT_VERSIONS)
            self._senders = [self._sender(f"stays{v[0]}", v, rate) for v in CLIENT_VERSIONS]
            self._hearers = [self._hearer(f"stays{v[0]}", v) for v in CLIENT_VERSIONS]
            with together(*self._senders, *self._hearers), turned(self._mq, self.tally):
                began = time.monotonic()
                for number in count():
                    minute = (time.monotonic() - began) / 60
                    if number >= 3 and minute >= self._minutes:
                        break
                    self._round(number)
                    self.samples.append(self._sample((time.monotonic() - began) / 60))
                    tell(self.samples[-1])

    def _sender(self, name: str, version: str, rate: int) -> SoakSender:
        return SoakSender(self._mq.namesrv_addr, name, version, PACE, rate)

    def _hearer(self, name: str, version: str) -> SoakHearer:
        return SoakHearer(self._mq.namesrv_addr, name, version, PACE)

    # -- a round ------------------------------------------------------------------------------

    def _round(self, number: int) -> None:
        version = CLIENT_VERSIONS[number % len(CLIENT_VERSIONS)]
        mq, extra = self._mq, f"SoakOnly{number}"
        a, b = mq.broker("broker-a"), mq.broker("broker-b")
        sender = self._sender(f"guest{number}", version, self._per_second // 6)
        hearer = self._hearer(f"guest{number}", version)
        mq.create_topic(extra, QUEUES)
        # Before its first check of half messages a 4.9.7 broker has no topic for them; deleting
        # any topic then removes all half messages.
        mq.clock.advance("61s")
        self.tally.virtual_s += 61
        for one in self._senders:
            one.go()
        with together(sender, hearer):
            sender.go()
            end = hearer.kill if number % 2 else hearer.stop
            self.tally.clients_killed += 1 + number % 2
            self.tally.clients_stopped += 1 - number % 2
            self.tally.brokers_down += 3
            self._spread(
                *(b.kill, b.restart, a.stop, a.restart, b.pause, b.resume),
                *(end, sender.kill, mq.topic(extra).delete),
            )
        for one in self._senders:
            one.pause()
        self._drain([*self._senders, sender], [*self._hearers, hearer])

    def _spread(self, *events: Callable[[], object]) -> None:
        """Run the events one after the other, spread over the time of a round."""
        step_s = self._round_s / (len(events) + 1)
        due = time.monotonic()
        for event in events:
            due += step_s
            time.sleep(max(0.0, due - time.monotonic()))
            event()
        time.sleep(step_s)

    def _drain(self, senders: list[SoakSender], hearers: list[SoakHearer]) -> None:
        """Wait until all acknowledged messages are received; then forget them."""
        acked = set[str]().union(*(one.acked for one in senders))
        ordered = {id for id in acked if "-ordered-" in id}
        wanted = {ORDERLY: ordered, CONCURRENT: acked - ordered}
        for one in self._hearers:
            wanted |= dict.fromkeys(one.own_groups, acked - ordered)

        def missing() -> dict[str, list[str]]:
            left = {
                group: ids.difference(*(list(one.received.get(group, ())) for one in hearers))
                for group, ids in wanted.items()
            }
            return {group: sorted(ids)[:10] for group, ids in left.items() if ids}

        began = time.monotonic()
        # This waits for checks of transactions, and for the queue locks of a killed consumer.
        self._mq.clock.advance("61s", outside_peers=True)
        self.tally.virtual_s += 61
        try:
            wait_until(lambda: not missing(), DRAIN_S)
        except TimeoutError:
            raise AssertionError(f"acknowledged and never received: {missing()}") from None
        tally, received = self.tally, [ids for one in hearers for ids in one.received.values()]
        rolled = set[str]().union(*(one.rolled for one in senders))
        assert not rolled.intersection(set().union(*received)), "rolled back and received"
        tally.rounds += 1
        tally.acknowledged += len(acked)
        tally.received += sum(map(len, received))
        tally.retries += sum(one.retries for one in hearers)
        tally.failed_sends += sum(one.failures for one in senders)
        tally.slowest_drain_s = max(tally.slowest_drain_s, time.monotonic() - began)
        for sender in senders:
            sender.forget()
        for hearer in hearers:
            hearer.forget()

    # -- what is left of it -------------------------------------------------------------------

    def _sample(self, minute: float) -> Sample:
        mq = self._mq
        # A Java listener that survives a reset commits the offset it had before, and its real
        # position is unknown. If its queue then moves to another member, messages may be lost. So
        # listeners leave before a reset. Senders stay.
        for one in self._hearers:
            one.leave()
        taken = sample(mq, minute)
        for one in self._hearers:
            one.join()
        return taken


@contextmanager
def turned(mq: Cluster, tally: Tally) -> Iterator[None]:
    """Advance the clock after each second, and count."""
    over = threading.Event()

    def turn() -> None:
        while not over.wait(1.0):
            mq.clock.advance(f"{PACE - 1}s", outside_peers=True)
            tally.virtual_s += PACE

    thread = threading.Thread(target=turn, name="soak-clock")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def main() -> int:
    """Soak as long as the command line says. Return 1 if something grew."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--round-s", type=float, default=ROUND_S, help="of sending, per round")
    parser.add_argument("--per-second", type=int, default=PER_SECOND, help="messages sent")
    parser.add_argument("--json", type=Path, default=BUILD / "figures.json", metavar="FILE")
    parser.add_argument("--plot", type=Path, default=BUILD / "figures.svg", metavar="FILE")
    parser.add_argument("--hours", type=float, help="of the cluster's time, with attackers")
    parser.add_argument("--seed", type=int, default=1, help="of the attackers, with --hours")
    args = parser.parse_args()
    machine = describe_machine(java=args.hours is None)
    print("\n".join(f"{key}: {text}" for key, text in machine.items()), end="\n\n")
    print(" ".join(f"{name:>13}" for name in ("minute", *TOLERANCE)), flush=True)
    if args.hours is None:
        soak = Soak(args.minutes, args.round_s, args.per_second)
        soak.run(tell)
        found = list(figures(soak.samples, soak.tally))
    else:
        attacked = AttackedSoak(args.hours, args.seed)
        attacked.run(tell)
        found = list(figures(attacked.samples, attacked.tally, MUST_BE_ZERO, WARM_UP))
        print(*attacked.findings[:20], sep="\n")
    print(f"\n{HEADER}", *(line(figure) for figure in found if figure.x is None), sep="\n")
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_bytes(report(machine, found))
    print(f"\n{args.json}\n{draw(found, ', '.join(machine.values()), args.plot)}")
    return 1 if missed(found) else 0


def tell(sample: Sample) -> None:
    """Print one round's line of the table."""
    print(
        " ".join(f"{value:>13.1f}" for value in (sample.minute, *sample.held.values())), flush=True
    )


if __name__ == "__main__":
    sys.exit(main())
