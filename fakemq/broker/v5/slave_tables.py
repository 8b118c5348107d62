"""What a slave of 5.5.0 takes over from its master besides the tables of 4.9.7.

Source: broker/slave/SlaveSynchronize.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.protocol.v5.bodies.version import DataVersion5

if TYPE_CHECKING:
    from fakemq.broker.sending.delay import ScheduleMessageService
    from fakemq.broker.v5.pop.service import PopService
    from fakemq.broker.v5.timers.service import TimerMessageService
    from fakemq.clock.slices import Steps
    from fakemq.protocol.bodies.offset import DelayOffsetSerializeWrapper
    from fakemq.protocol.bodies.pop import MessageRequestModeTable
    from fakemq.protocol.v5.bodies.timer import TimerMetricsSerializeWrapper


class SlaveTables:
    """The further tables of one slave."""

    def __init__(
        self,
        versions: TableVersions,
        delay: ScheduleMessageService,
        pop: PopService,
        timers: TimerMessageService,
    ) -> None:
        self._versions = versions
        self._delay = delay
        self._pop = pop
        self._timers = timers

    @property
    def follows_timers(self) -> bool:
        return self._timers.running

    def take_mappings_version(self, version: DataVersion5) -> None:
        self._versions.mappings = version

    def take_offsets_version(self, version: DataVersion5) -> None:
        self._versions.offsets = version

    def take_delays(
        self, wrapper: DelayOffsetSerializeWrapper, version: DataVersion5 | None
    ) -> None:
        self._delay.follow(wrapper)
        if version is not None:
            self._versions.delays = version

    def take_modes(self, modes: MessageRequestModeTable) -> Steps[None]:
        self._pop.modes.load(modes)
        yield from self._pop.mode_file.persist_change()

    def take_timer_metrics(self, metrics: TimerMetricsSerializeWrapper) -> bool:
        return self._timers.take_metrics(metrics)

    def take_timer_checkpoint(self, data: bytes) -> None:
        self._timers.take_checkpoint(data)


# Versions of the tables that have none in 4.9.7: a slave of 5.5.0 takes them from its master.
#
# Differs: they begin with each start, where Java keeps them in the files of the tables, and commits
# and deliveries do not count. A slave looks at them, and a master that comes back to its group: for
# that, each member's table is as late as its own (`fakemq.broker.v5.acting.pre_online`).


class TableVersions:
    """The versions of one broker's tables, each from its start or its master."""

    def __init__(self, now_ms: int) -> None:
        self.start(now_ms)

    def start(self, now_ms: int) -> None:
        """Begin all of them now."""
        self.offsets = self.delays = self.mappings = DataVersion5(timestamp=now_ms)
