"""A cluster's days with attackers: ``python -m bench.soak --hours 24``, in ten minutes.

The cluster's clock runs `RATE` times as fast as the machine's. In each round, an hour of the
cluster, attackers in another process (`tests.attack.attackers`) send hostile requests to every
port, while an honest client sends, pulls, compares and commits. No request of the honest client may
fail, and no handler. Then all leave, the cluster is reset, and what remains is counted: it must not
grow.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import msgspec

from bench.soaking import Sample, sample
from fakemq import Cluster
from fakemq.events.core import HandlerFailed
from tests.attack.honest import QUEUES, TOPIC, Honest
from tests.attack.ports import Ports

RATE = 180.0
"""Seconds of the cluster's time in one real second: 24 hours take eight minutes."""
ROUND_S = 3600 / RATE
ATTACK_S = 0.75 * ROUND_S
"""How much of a round's real time is attacked; the rest is for the begin, the end and the count."""
WARM_UP = 4
"""Rounds until caches are full, and the heap has the size that the dearest round needs."""
LEAVE_TIMEOUT = "30s"
FORGET = "121s"
"""How long a broker remembers what closed connections read before a reset, and a little more."""


class AttackedTally(msgspec.Struct):
    """Counters of what was done, and what must not have happened."""

    rounds: int = 0
    hostile_requests: int = 0
    honest_requests: int = 0
    failed_honest_requests: int = 0
    failed_handlers: int = 0
    attackers_without_answer: int = 0
    virtual_s: float = 0


MUST_BE_ZERO = ("failed_honest_requests", "failed_handlers", "attackers_without_answer")


class AttackedSoak:
    """One cluster with a name server, a master and a slave, and attackers in each round."""

    def __init__(self, hours: float, seed: int) -> None:
        self.tally = AttackedTally()
        self.samples: list[Sample] = []
        self.findings: list[str] = []
        self._hours, self._seed = hours, seed
        self._mq = Cluster(
            slaves=1,
            control_port=0,
            topics={TOPIC: QUEUES, "Hostile1": 4},
            config={"enablePropertyFilter": "true"},
        )

    def run(self, tell: Callable[[Sample], None] = lambda sample: None) -> None:
        """Run rounds until the cluster's hours are over, at least six."""
        with self._mq as mq:
            # A reset does not end it: a listener belongs to the journal, not to its entries.
            mq.inspect(
                lambda core: core.journal.listen(
                    lambda entry: self._failed(entry.event), HandlerFailed
                )
            )
            began_s = time.monotonic()
            number = 0
            while number < WARM_UP + 2 or self.tally.virtual_s < self._hours * 3600:
                self._round(number)
                mq.reset()
                mq.clock.advance(FORGET, outside_peers=True)
                self.samples.append(sample(mq, (time.monotonic() - began_s) / 60))
                tell(self.samples[-1])
                number += 1

    def _failed(self, event: object) -> None:
        assert isinstance(event, HandlerFailed)
        self.tally.failed_handlers += 1
        self.findings.append(event.traceback)

    def _round(self, number: int) -> None:
        mq, tally = self._mq, self.tally
        began_ms = mq.clock.now_ms()
        until_s = time.monotonic() + ROUND_S
        mq.clock.rate = RATE
        with Honest(mq.namesrv_addr) as honest:
            self._attack(Ports.of(mq), self._seed + number)
        mq.wait_for(self._is_left, LEAVE_TIMEOUT)
        time.sleep(max(0.0, until_s - time.monotonic()))
        tally.rounds += 1
        tally.honest_requests += honest.requests
        tally.failed_honest_requests += len(honest.findings)
        tally.virtual_s += (mq.clock.now_ms() - began_ms) / 1000
        self.findings += honest.findings

    def _attack(self, ports: Ports, seed: int) -> None:
        command = (
            *(sys.executable, "-m", "tests.attack.attackers"),
            *(msgspec.json.encode(ports).decode(), str(seed), str(ATTACK_S)),
        )
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        *findings, handled = done.stdout.splitlines()
        self.tally.hostile_requests += int(handled)
        self.tally.attackers_without_answer += len(findings)
        self.findings += findings

    def _is_left(self) -> bool:
        """Return whether no peer outside the cluster is connected any more."""
        return self._mq.inspect(
            lambda core: (
                not any(one.outside for broker in core.brokers.values() for one in broker.sessions)
            )
        )
