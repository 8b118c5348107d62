"""Lite topics without new messages are deleted, after the time that their parent says.

Java looks every two minutes, and not in the first quarter of an hour after a start. Here that is
done at the ticks of the same grid at which something may be due.

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
    from fakemq.protocol.bodies.topic import TopicConfig

_MINUTE_MS: Final = 60_000
_START_CHECK_MS: Final = 20_000
"""How often Java looks whether its start is long enough ago."""


class LiteExpiry:
    """Deletes lite topics of one broker."""

    def __init__(self, broker: LiteOwner, service: LiteTopics) -> None:
        self._broker = broker
        self._service = service
        self._timer: Timer | None = None

    def watch(self, queue: str) -> None:
        """Look when a lite topic that has just got a message may expire."""
        found = parent_and_lite(queue)
        config = None if found is None else self._broker.topics.select(found[0])
        idle_ms = None if config is None else self._longest_idle_ms(config)
        if idle_ms is not None:
            self.look_in(idle_ms)

    def look_in(self, delay_ms: int) -> None:
        """Look at the first tick of the grid after this time, or earlier."""
        clock, config = self._broker.clock, self._service.config
        now_ms, started_ms = clock.elapsed_ms(), self._broker.started_ms
        timer, due_ms = self._timer, now_ms + max(0, delay_ms) + 1
        if timer is not None and timer.pending and timer.due_ms <= due_ms:
            return
        first_ms = -(-config.min_lite_t_tl // _START_CHECK_MS) * _START_CHECK_MS
        period_ms = max(config.lite_ttl_check_interval, LEAST_PERIOD_MS)
        tick_ms = next_tick_ms(due_ms, started_ms, first_ms, period_ms)
        if timer is not None and timer.pending:
            if timer.due_ms <= tick_ms:
                return
            clock.cancel(timer)
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
        service, bound_to = self._service, self._service.groups.bound_to()
        first_ms: int | None = None
        """In how long the next one may expire."""
        for queue in service.names():
            yield
            found = parent_and_lite(queue)
            times = None if found is None else self._times_ms(found[0], queue)
            if found is None or times is None:
                continue
            idle_ms, longest_ms = times
            if idle_ms <= longest_ms:
                left_ms = longest_ms - idle_ms
                first_ms = left_ms if first_ms is None else min(first_ms, left_ms)
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
        if first_ms is not None:
            self.look_in(first_ms)

    def _longest_idle_ms(self, parent: TopicConfig) -> int | None:
        """Return for how long lite topics of a parent may have no message; None without a limit.

        Of the time that a broker's config says for all, Java deletes at the end, not after it.
        """
        minutes = expiration_min(parent)
        if minutes <= 0:
            return None
        return max(minutes * _MINUTE_MS, self._service.config.min_lite_t_tl - 1)

    def _times_ms(self, parent: str, queue: str) -> tuple[int, int] | None:
        """Return for how long a lite topic has had no message, and for how long it may.

        None if it stays.

        Source: AbstractLiteLifecycleManager.java#isLiteTopicExpired (5.5.0)
        """
        broker, end = self._broker, self._service.end_of(queue)
        config = broker.topics.select(parent)
        if end <= 0 or config is None:
            return None
        longest_ms = self._longest_idle_ms(config)
        if longest_ms is None:
            return None
        stored_ms = broker.store.message_store_timestamp(queue, 0, end - 1)
        return broker.clock.now_ms() - stored_ms, longest_ms

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
