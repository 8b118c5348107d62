"""Acknowledged timer messages come at least once, over any ends, starts, clocks and damage.

More exactly: once, and once more at most for each kill. A kill within a second of a delivery
repeats it, as at a real broker.
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


SKEWS_MS = [0, 1_500, -1_500, 3_600_000, -3_600_000, DAY_MS, -20 * DAY_MS]
TIMES_MS = [1, 300, 1_000, 7_000, 60_000, 900_000]


class TimerMachine(RuleBasedStateMachine):
    """Runs one broker, ends it, damages its files, and starts it again."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.copies: dict[str, Path] = {}

    @initialize(seed=st.integers(0, 1 << 20))
    def begin(self, seed: int) -> None:
        self.timed = TimedStore(self.folder / "store", seed)

    @rule(delays_s=st.lists(st.integers(1, LONGEST_S), min_size=1, max_size=5))
    def send(self, delays_s: list[int]) -> None:
        self.timed.connect()
        for delay_s in delays_s:
            self.timed.send(delay_s)

    @rule()
    def plain(self) -> None:
        self.timed.connect()
        self.timed.plain()

    @precondition(lambda self: self.timed.acknowledged)
    @rule(data=st.data())
    def recall(self, data: st.DataObject) -> None:
        self.timed.connect()
        self.timed.recall(data.draw(st.sampled_from(sorted(self.timed.acknowledged))))

    @rule(ms=st.sampled_from(TIMES_MS))
    def advance(self, ms: int) -> None:
        self.timed.advance(ms)

    @rule(ms=st.sampled_from(SKEWS_MS))
    def skew(self, ms: int) -> None:
        self.timed.skew(ms)

    @rule(
        how=st.sampled_from(["stop", "kill", "crash"]),
        damages=st.lists(
            st.tuples(
                st.sampled_from(["remove", "flip", "keep", "put_back"]), st.sampled_from(FILES)
            ),
            max_size=3,
        ),
        ms=st.sampled_from(TIMES_MS),
        skew_ms=st.none() | st.sampled_from(SKEWS_MS),
        seed=st.integers(0, 1 << 20),
    )
    def restart(
        self, how: str, damages: list[tuple[str, str]], ms: int, skew_ms: int | None, seed: int
    ) -> None:
        timed = self.timed
        timed.end(how)
        for damage, name in damages:
            path = timed.path(name)
            if path.exists():
                getattr(self, damage)(path, name, random.Random(seed))
        timed.advance(ms)
        if skew_ms is not None:
            timed.skew(skew_ms)
        timed.start()

    def remove(self, path: Path, name: str, draw: random.Random) -> None:
        path.unlink()

    def flip(self, path: Path, name: str, draw: random.Random) -> None:
        data = bytearray(path.read_bytes())
        if used := len(data.rstrip(b"\0")):
            for _ in range(draw.choice((1, 8))):
                data[draw.randrange(used)] ^= 1 << draw.randrange(8)
            path.write_bytes(data)

    def keep(self, path: Path, name: str, draw: random.Random) -> None:
        self.copies[name] = Path(shutil.copyfile(path, self.folder / path.name))

    def put_back(self, path: Path, name: str, draw: random.Random) -> None:
        if name in self.copies:
            shutil.copyfile(self.copies[name], path)

    @invariant()
    def nothing_is_invented(self) -> None:
        for key, count in self.timed.delivered().items():
            assert count <= 1 + self.timed.kills, key

    def teardown(self) -> None:
        if not hasattr(self, "timed"):
            return
        timed = self.timed
        try:
            timed.skew(0)
            timed.advance((LONGEST_S + 5) * 1000)
            timed.advance(21 * DAY_MS)
            self.nothing_is_invented()
            assert set(timed.acknowledged) - set(timed.delivered()) <= timed.recalled
        finally:
            timed.close()
            shutil.rmtree(self.folder)


TestTimerMachine = TimerMachine.TestCase
TestTimerMachine.settings = settings(
    max_examples=25,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
