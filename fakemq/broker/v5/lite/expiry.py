"""Lite topics without new messages are deleted, after the time that their parent says.

Java looks every two minutes, and not in the first quarter of an hour after a start.

Source: broker/lite/AbstractLiteLifecycleManager.java, LiteLifecycleManager.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.broker.v5.lite.settings import expiration_min, is_parent
from fakemq.clock.timers import LEAST_PERIOD_MS, next_tick_ms
from fakemq.events.lite import LiteTopicExpired
from fakemq.journal.journal import shortened
from fakemq.protocol.v5.lite import belongs_to, parent_and_lite

if TYPE_CHECKING:
    from fakemq.broker.v5.lite.parts import LiteOwner, LiteTopics
    from fakemq.clock.slices import Steps
    from fakemq.clock.timers import Timer

_MINUTE_MS: Final = 60_000
_START_CHECK_MS: Final = 20_000
"""How often Java looks whether its start is long enough ago."""


class LiteExpiry:
    """Deletes lite topics of one broker."""

    def __init__(self, broker: LiteOwner, service: LiteTopics) -> None:
        self._broker = broker
        self._service = service
        self._timer: Timer | None = None

    def watch(self) -> None:
        """Look at the next tick of the grid, if no look is due."""
        if self._timer is not None and self._timer.pending:
            return
        clock, config = self._broker.clock, self._service.config
        now_ms, started_ms = clock.elapsed_ms(), self._broker.started_ms
        first_ms = -(-config.min_lite_t_tl // _START_CHECK_MS) * _START_CHECK_MS
        period_ms = max(config.lite_ttl_check_interval, LEAST_PERIOD_MS)
        tick_ms = next_tick_ms(now_ms + 1, started_ms, first_ms, period_ms)
        self._timer = clock.call_later(tick_ms - now_ms, self._look, kind="lite_expiry")

    def stop(self) -> None:
        """Look no more."""
        self._broker.clock.drop_of(self)
        self._broker.clock.cancel(self._timer)
        self._timer = None

    def _look(self) -> None:
        self._timer = None
        self._broker.clock.carry_out(self._look_at_each(), peer=self)

    def _look_at_each(self) -> Steps[None]:
        """Source: AbstractLiteLifecycleManager.java#cleanExpiredLiteTopic (5.5.0)"""
        service, bound_to, left = self._service, self._service.groups.bound_to(), False
        for queue in service.names():
            yield
            found = parent_and_lite(queue)
            if found is None:
                continue
            idle_ms = self._idle_ms(found[0], queue)
            if idle_ms is None:
                left = True
                continue
            service.delete(queue, bound_to.get(found[0], ()))
            self._broker.journal.add(
                LiteTopicExpired(
                    node=self._broker.name,
                    topic=shortened(found[0]),
                    lite_topic=shortened(found[1]),
                    queue=shortened(queue),
                    idle_ms=idle_ms,
                )
            )
        if left:
            self.watch()

    def _idle_ms(self, parent: str, queue: str) -> int | None:
        """Return for how long a lite topic had no message; None if it stays.

        Source: AbstractLiteLifecycleManager.java#isLiteTopicExpired (5.5.0)
        """
        broker, end = self._broker, self._service.end_of(queue)
        config = broker.topics.select(parent)
        if end <= 0 or config is None:
            return None
        minutes = expiration_min(config)
        idle_ms = broker.clock.now_ms() - broker.store.message_store_timestamp(queue, 0, end - 1)
        if minutes <= 0 or idle_ms < self._service.config.min_lite_t_tl:
            return None
        return idle_ms if idle_ms > minutes * _MINUTE_MS else None

    def parent_deleted(self, topic: str) -> Steps[None]:
        """Delete the lite topics of a parent.

        Source: AbstractLiteLifecycleManager.java#cleanByParentTopic (5.5.0)
        """
        service = self._service
        if not is_parent(self._broker.topics.select(topic)):
            return
        groups = service.groups.bound_to().get(topic, ())
        for queue in service.names():
            yield
            if belongs_to(queue, topic):
                service.delete(queue, groups)
