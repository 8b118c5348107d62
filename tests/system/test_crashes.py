"""Power failures at any moment, by the hundred: what was acknowledged is there, or counted as lost.

A broker on a directory takes a random stream of sends while time passes, and with it flushes; then
its power fails, which takes what was not flushed, but for some pages. It starts again, and a client
that has counted acknowledgements compares.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, TypeAlias

import pytest

from tests.support.crashes import Crashes, Loss

pytestmark = pytest.mark.slow  # 120 brokers with two lives each

SEEDS, AT_ONCE, LIVES = 60, 20, 2
ROUNDS = [range(first, first + AT_ONCE) for first in range(0, SEEDS, AT_ONCE)]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where a flush costs nothing, if there is such a place: what it makes safe is pretended."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        yield Path(name)


Flush: TypeAlias = Literal["ASYNC_FLUSH", "SYNC_FLUSH"]


def crash_often(root: Path, seed: int, flush: Flush) -> list[Loss]:
    """The lives of one broker. Return what their ends lost, each compared with what was sent."""
    crashes = Crashes(root, seed, flush)
    losses = []
    for _ in range(LIVES):
        crashes.live()
        if flush == "SYNC_FLUSH" and crashes.random.random() < 0.7:
            # Or everything would always be flushed, and there would be nothing to lose.
            crashes.block_disk()
            crashes.live()
        losses.append(crashes.lose_power())
        crashes.consume()
    crashes.pass_all_delays()
    found = crashes.consume()
    crashes.close()
    for key, _ in crashes.promises.acknowledged:
        properties = crashes.sent[key].properties
        if "DELAY" in properties:
            assert found[key] or key in crashes.excused
        elif "TRAN_MSG" in properties:
            assert found[key] <= 1
        else:
            assert found[key] == 1
    assert all(found[key] == 1 for key in crashes.committed)
    if flush == "SYNC_FLUSH":
        assert all(loss.lost == 0 for loss in losses)
    return losses


@pytest.mark.parametrize("seeds", ROUNDS, ids=str)
@pytest.mark.parametrize("flush", ["SYNC_FLUSH", "ASYNC_FLUSH"])
def test_power_failures_lose_no_acknowledged_message(
    folder: Path, flush: Flush, seeds: range
) -> None:
    losses = []
    for seed in seeds:
        try:
            losses += crash_often(folder / str(seed), seed, flush)
        except AssertionError as error:
            error.add_note(f"seed {seed}, {flush}")
            raise
    log_bytes, pages, lost_pages, acknowledged, lost = map(sum, zip(*losses, strict=True))
    print(
        f"{flush}, {len(losses)} power failures: {lost:,} of {acknowledged:,} acknowledged messages"
        f" lost, {log_bytes:,} bytes of logs not flushed, {lost_pages:,} of {pages:,} pages lost"
    )
    assert lost_pages > 0
    assert (lost > 0) == (flush == "ASYNC_FLUSH")
