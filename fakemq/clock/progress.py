"""A bar for commands that take long: how much is done, how fast, and how long the rest takes."""

from __future__ import annotations

from typing import Self, TextIO

from fakemq.clock.machine_time import MachineTime, TimeSource

BAR_FROM_MS, BAR_EVERY_MS, BAR_CELLS = 1_000, 100, 24
BYTES = "bytes"
"""The unit that is shown as MiB."""


class ProgressBar:
    """A bar on a terminal, once the work has taken a second; nothing on other outputs.

    ``unit`` names what is counted: `BYTES`, or a plural such as ``seeds``; ``title`` stands before
    the bar. The time is looked at once in ``look_every`` calls. The end of a ``with`` block, by an
    error too, removes the bar.
    """

    def __init__(
        self,
        total: int,
        stream: TextIO,
        unit: str = BYTES,
        *,
        title: str = "",
        look_every: int = 1,
        time: TimeSource | None = None,
    ) -> None:
        self._total = total
        self._stream = stream
        self._unit = unit
        self._title = f"{title} " if title else ""
        self._look_every = look_every
        self._time = MachineTime() if time is None else time
        self._shows = stream.isatty()
        self._started_ms = self._shown_ms = self._time.elapsed_ms()
        self._done: float = 0
        self._calls = 0
        self._drawn = False

    def passed(self, count: float = 1) -> None:
        """Count more as done."""
        self._done += count
        self._calls += 1
        if self._shows and self._calls % self._look_every == 0:
            self.look()

    def reached(self, done: float) -> None:
        """Set how much is done."""
        self.passed(done - self._done)

    def look(self) -> None:
        """Draw the bar if it is time to."""
        now_ms = self._time.elapsed_ms()
        if now_ms - self._started_ms < BAR_FROM_MS or now_ms - self._shown_ms < BAR_EVERY_MS:
            return
        self._shown_ms = now_ms
        ratio = min(1.0, self._done / self._total) if self._total else 1.0
        bar = "#" * round(ratio * BAR_CELLS)
        line = f"{self._title}[{bar:<{BAR_CELLS}}] {ratio:4.0%} {self.text(now_ms)}"
        self._stream.write(f"\r{line}\x1b[K")
        self._stream.flush()
        self._drawn = True

    def text(self, now_ms: int) -> str:
        """Return what is done of how much, the rate, and the time left."""
        took_s = max(now_ms - self._started_ms, 1) / 1000
        rate = self._done / took_s
        left = _time_text((self._total - self._done) / rate) if rate else "?"
        if self._unit == BYTES:
            done, total = int(self._done) >> 20, self._total >> 20
            return f"{done} of {total} MiB, {rate / (1 << 20):.1f} MiB/s, {left} left"
        shown = f"{rate:.1f}/s" if rate < 10 else f"{rate:.0f}/s"
        if rate < 0.1:
            shown = f"{60 * rate:.1f}/min"
        return f"{int(self._done)} of {self._total} {self._unit}, {shown}, {left} left"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def clear(self) -> None:
        """Remove the bar from the terminal."""
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn = False


def _time_text(seconds: float) -> str:
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
