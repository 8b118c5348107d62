"""What a slave of 5.5.0 copies from its master besides topics, groups, offsets and delays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from fakemq.clock.slices import Steps
    from fakemq.protocol.bodies.offset import DelayOffsetSerializeWrapper
    from fakemq.protocol.bodies.pop import MessageRequestModeTable
    from fakemq.protocol.v5.bodies.timer import TimerMetricsSerializeWrapper
    from fakemq.protocol.v5.bodies.version import DataVersion5


class Tables5(Protocol):
    """Further tables of a slave, and the versions of those that have none in 4.9.7."""

    @property
    def follows_timers(self) -> bool:
        """Whether it takes metrics and progress of timers over."""

    def take_mappings_version(self, version: DataVersion5, /) -> None:
        """Take the version of the mappings of static topics, which are empty."""

    def take_offsets_version(self, version: DataVersion5, /) -> None:
        """Take the version of the consumer offsets."""

    def take_delays(
        self, wrapper: DelayOffsetSerializeWrapper, version: DataVersion5 | None, /
    ) -> None:
        """Answer with the master's delay offsets from now on; the file has them already."""

    def take_modes(self, modes: MessageRequestModeTable, /) -> Steps[None]:
        """Replace the modes of topics and groups."""

    def take_timer_metrics(self, metrics: TimerMetricsSerializeWrapper, /) -> bool:
        """Replace the counts of timer messages if they have another version; return whether."""

    def take_timer_checkpoint(self, data: bytes, /) -> None:
        """Follow the master's progress; raise BodyError for bytes that are none."""
