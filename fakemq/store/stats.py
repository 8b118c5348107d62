"""What the store counts of puts and gets, for the runtime info of a broker.

Source: store/StoreStatsService.java, store/stats/BrokerStats.java (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.clock.calendar import next_morning_ms
from fakemq.protocol.java import java_double_text
from fakemq.store.counters import Counter, Grid

if TYPE_CHECKING:
    from fakemq.clock.node_clock import NodeClock

_SECONDS: Final = 0
_MINUTES: Final = 1
_MORNINGS: Final = 2
_TPS_SECONDS: Final = (10, 60, 600)
_DAY_MS: Final = 86_400_000
_PUT_TIMES: Final = (
    *("[<=0ms]", "[0~10ms]", "[10~50ms]", "[50~100ms]", "[100~200ms]", "[200~500ms]"),
    *("[500ms~1s]", "[1~2s]", "[2~3s]", "[3~4s]", "[4~5s]", "[5~10s]", "[10s~]"),
)


class StoreStats:
    """Counts since `start`. The duration of puts and gets is always 0 ms on the cluster's clock."""

    def __init__(self, clock: NodeClock) -> None:
        self._clock = clock
        self._axis = clock.cluster.axis
        self.start()

    def start(self) -> None:
        """Begin to count from 0."""
        self.boot_timestamp_ms = now_ms = self._clock.now_ms()
        self._began_ms = self._clock.elapsed_ms()
        # Durations of puts are reset each minute; totals are sampled each morning.
        morning = Grid(_DAY_MS, 1, first_ms=next_morning_ms(now_ms) - now_ms)
        grids = (Grid(1_000, _TPS_SECONDS[-1]), Grid(60_000, 1), morning)
        self._put = Counter(grids, 0)
        self._found = Counter(grids, 0)
        self._miss = Counter(grids, 0)
        self._transferred = Counter(grids, 0)
        self._put_size_bytes = 0
        self._put_failed = 0

    # -- counting -----------------------------------------------------------------------------

    def put(self, num: int, size_bytes: int) -> None:
        """Count a put that stored ``num`` records of ``size_bytes`` together."""
        at_ms = self._axis.at_ms  # the first half of `elapsed_ms`, repeated: saves a call
        now_ms = (self._clock.elapsed_ms() if at_ms is None else at_ms) - self._began_ms
        counter = self._put
        # `Counter.add`, repeated: saves a call a message.
        if now_ms >= counter.next_ms:
            counter.pass_to(now_ms)
        counter.value += num
        counter.times += 1
        self._put_size_bytes += size_bytes

    def put_failed(self) -> None:
        """Count a put that passed the first checks and was refused at the log."""
        self._put.add(self._now_ms(), 0)
        self._put_failed += 1

    def got(self, num: int) -> None:
        """Count a get that found ``num`` messages."""
        now_ms = self._now_ms()
        if num:
            self._found.add(now_ms, 1)
            self._transferred.add(now_ms, num)
        else:
            self._miss.add(now_ms, 1)

    def _now_ms(self) -> int:
        return self._clock.elapsed_ms() - self._began_ms

    # -- reading ------------------------------------------------------------------------------

    def runtime_info(self) -> dict[str, str]:
        """Figures as texts, in Java's order.

        Source: store/StoreStatsService.java#getRuntimeInfo (4.9.7)
        """
        times_total = self._put.value or 1  # Java shows what it divides by
        last_minute = self._puts_of_last_minute()
        return {
            "bootTimestamp": str(self.boot_timestamp_ms),
            "runtime": self._runtime(),
            "putMessageEntireTimeMax": "0",
            "putMessageTimesTotal": str(times_total),
            "putMessageFailedTimes": str(self._put_failed),
            "putMessageSizeTotal": str(self._put_size_bytes),
            "putMessageDistributeTime": _distribution(last_minute),
            "putMessageAverageSize": java_double_text(self._put_size_bytes / times_total),
            "dispatchMaxBuffer": "0",
            "getMessageEntireTimeMax": "0",
            "putTps": self._tps(self._put),
            "getFoundTps": self._tps(self._found),
            "getMissTps": self._tps(self._miss),
            "getTotalTps": self._total_tps(),
            "getTransferedTps": self._tps(self._transferred),
            "putLatency99": _latency(last_minute or 0, 0.99),
            "putLatency999": _latency(last_minute or 0, 0.999),
        }

    def totals_by_day(self) -> dict[str, str]:
        """Return the messages put and got until yesterday morning, this morning, and now.

        Source: broker/processor/AdminBrokerProcessor.java#prepareRuntimeInfo (4.9.7)
        """
        info = {}
        for name, counter in (("msgPutTotal", self._put), ("msgGetTotal", self._transferred)):
            today = counter.tick(_MORNINGS, self._now_ms())
            info[f"{name}YesterdayMorning"] = str(counter.at(_MORNINGS, today - 1)[0])
            info[f"{name}TodayMorning"] = str(counter.at(_MORNINGS, today)[0])
            info[f"{name}TodayNow"] = str(counter.value)
        return info

    def _runtime(self) -> str:
        seconds = (self._clock.now_ms() - self.boot_timestamp_ms) // 1000
        minutes, seconds = divmod(seconds, 60)
        hours, minutes = divmod(minutes, 60)
        days, hours = divmod(hours, 24)
        return f"[ {days:,} days, {hours} hours, {minutes} minutes, {seconds} seconds ]"

    def _tps(self, counter: Counter) -> str:
        found = (self._tps_over(counter, seconds) for seconds in _TPS_SECONDS)
        return " ".join("" if tps is None else java_double_text(tps) for tps in found)

    def _total_tps(self) -> str:
        return " ".join(
            java_double_text(
                (self._tps_over(self._found, seconds) or 0.0)
                + (self._tps_over(self._miss, seconds) or 0.0)
            )
            for seconds in _TPS_SECONDS
        )

    def _tps_over(self, counter: Counter, seconds: int) -> float | None:
        """Return the rate over the last ``seconds``; None if the counter is younger."""
        last = counter.tick(_SECONDS, self._now_ms())
        if last <= seconds:
            return None
        gained = counter.at(_SECONDS, last)[0] - counter.at(_SECONDS, last - seconds)[0]
        return gained / (seconds * 1000) * 1000

    def _puts_of_last_minute(self) -> int | None:
        """Return the number of puts in the last whole minute; None in the first minute."""
        last = self._put.tick(_MINUTES, self._now_ms())
        if last < 1:
            return None
        return self._put.at(_MINUTES, last)[1] - self._put.at(_MINUTES, last - 1)[1]


def _distribution(puts: int | None) -> str:
    if puts is None:
        return "null"
    return f"{_PUT_TIMES[0]}:{puts} " + "".join(f"{name}:0 " for name in _PUT_TIMES[1:])


def _latency(puts: int, share: float) -> str:
    """Return the longest duration of a share of the puts, as Java interpolates it within 1 ms.

    Source: store/StoreStatsService.java#findPutMessageEntireTimePX (4.9.7)
    """
    return f"{int(puts * share) / puts:.2f}" if puts else "0.00"
