"""Acknowledged timer messages come at least once, over any ends, starts, clocks and damage.

More exactly: once, and once more at most for each kill; a kill within a second of a delivery repeats
it, as at a real broker.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.support.timed_store import DAY_MS, FILES, TimedStore

LONGEST_S = 3_000


class TimerMachine(RuleBasedStateMachine):
    """Runs, ends, damages and starts one broker."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.running = True
        self.copies: dict[str, Path] = {}

    @initialize(seed=st.integers(0, 1 << 20))
    def begin(self, seed: int) -> None:
        self.timed = TimedStore(self.folder / "store", seed)

    # -- running ------------------------------------------------------------------------------

    @precondition(lambda self: self.running)
    @rule(delay_s=st.integers(1, LONGEST_S), count=st.integers(1, 4))
    def send(self, delay_s: int, count: int) -> None:
        for number in range(count):
            self.timed.send(delay_s + number % 2)

    @precondition(lambda self: self.running)
    @rule()
    def plain(self) -> None:
        self.timed.plain()

    @precondition(lambda self: self.running and self.timed.acknowledged)
    @rule(data=st.data())
    def recall(self, data: st.DataObject) -> None:
        keys = sorted(key for key, handle in self.timed.acknowledged.items() if handle)
        self.timed.recall(data.draw(st.sampled_from(keys)))

    @rule(ms=st.sampled_from([1, 300, 1_000, 7_000, 60_000, 900_000]))
    def advance(self, ms: int) -> None:
        self.timed.advance(ms)
        if self.running:
            self.timed._connect()

    @rule(ms=st.sampled_from([0, 1_500, -1_500, 3_600_000, -3_600_000, DAY_MS, -20 * DAY_MS]))
    def skew(self, ms: int) -> None:
        self.timed.skew(ms)

    @precondition(lambda self: self.running)
    @rule(how=st.sampled_from(["stop", "kill", "crash"]))
    def end(self, how: str) -> None:
        self.timed.end(how)
        self.running = False

    # -- not running --------------------------------------------------------------------------

    @precondition(lambda self: not self.running)
    @rule()
    def start(self) -> None:
        self.timed.start()
        self.running = True

    @precondition(lambda self: not self.running)
    @rule(name=st.sampled_from(FILES))
    def remove(self, name: str) -> None:
        path = self.timed.root / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    @precondition(lambda self: not self.running)
    @rule(name=st.sampled_from(FILES), seed=st.integers(0, 1 << 20))
    def flip(self, name: str, seed: int) -> None:
        draw, path = random.Random(seed), self.timed.path(name)
        if path.exists() and (used := len(path.read_bytes().rstrip(b"\0"))):
            data = bytearray(path.read_bytes())
            for _ in range(draw.choice((1, 8))):
                data[draw.randrange(used)] ^= 1 << draw.randrange(8)
            path.write_bytes(data)

    @precondition(lambda self: not self.running)
    @rule(name=st.sampled_from(("timerlog", "config/timercheck")))
    def keep(self, name: str) -> None:
        path, copy = self.timed.path(name), self.folder / Path(name).name
        if path.exists():
            self.copies[name] = Path(shutil.copyfile(path, copy))

    @precondition(lambda self: not self.running and self.copies)
    @rule(data=st.data())
    def put_back(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.copies)))
        path = self.timed.path(name)
        if path.exists():
            shutil.copyfile(self.copies[name], path)

    # -- always -------------------------------------------------------------------------------

    @invariant()
    def nothing_is_invented(self) -> None:
        if not self.running:
            return
        for key, count in self.timed.delivered().items():
            assert count <= 1 + self.timed.kills, key

    def teardown(self) -> None:
        if not hasattr(self, "timed"):
            return
        timed = self.timed
        try:
            if not self.running:
                timed.start()
            timed.skew(0)
            timed.advance((LONGEST_S + 5) * 1000)
            timed.advance(21 * DAY_MS)
            lost = set(timed.acknowledged) - set(timed.delivered()) - timed.recalled
            assert not lost, timed.core.journal.find()
        finally:
            timed.close()
            shutil.rmtree(self.folder)


TestTimerMachine = TimerMachine.TestCase
TestTimerMachine.settings = settings(
    max_examples=15,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
