"""The bar of a command that takes long."""

from __future__ import annotations

from io import StringIO

import pytest

from fakemq.clock.progress import ProgressBar
from tests.support.terminal import HandTime, Terminal


def test_bar_has_rate_and_time_left_once_it_takes_long() -> None:
    out, time = Terminal(), HandTime()
    progress = ProgressBar(2_000, out, "seeds", time=time)
    time.ms = 900
    progress.passed(10)
    assert out.getvalue() == ""
    time.ms = 10_000
    progress.passed(490)
    assert out.getvalue() == f"\r[{'######':<24}]  25% 500 of 2000 seeds, 50/s, 30 s left\x1b[K"
    time.ms += 50
    progress.passed(1)
    assert out.getvalue().count("\r") == 1, "drawn at most ten times a second"
    progress.clear()
    assert out.getvalue().endswith("\r\x1b[K")


def test_bar_is_removed_when_the_work_fails() -> None:
    out, time = Terminal(), HandTime()

    def work() -> None:
        with ProgressBar(10, out, time=time) as progress:
            time.ms = 2_000
            progress.passed(5)
            raise OSError("unreadable")

    with pytest.raises(OSError, match="unreadable"):
        work()
    assert out.getvalue().endswith("left\x1b[K\r\x1b[K")


def test_bar_of_bytes_counts_mebibytes() -> None:
    out, time = Terminal(), HandTime()
    progress = ProgressBar(4 << 30, out, title="broker-a-0: checks its log", time=time)
    time.ms = 2_000
    progress.reached(1 << 30)
    assert out.getvalue().startswith("\rbroker-a-0: checks its log [######  ")
    assert "1024 of 4096 MiB, 512.0 MiB/s, 6 s left" in out.getvalue()
    progress.reached(1 << 20)
    time.ms = 9_000_000
    progress.look()
    assert "1 of 4096 MiB, 0.0 MiB/s, " in out.getvalue()
    assert " h " in out.getvalue()


def test_other_outputs_have_no_bar() -> None:
    out, time = StringIO(), HandTime()
    progress = ProgressBar(10, out, "seeds", time=time)
    time.ms = 5_000
    progress.passed(5)
    progress.clear()
    assert out.getvalue() == ""
