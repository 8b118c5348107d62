"""Puts of timer messages: they go to the timer topic first, unless their time is over.

Source: broker/util/HookUtils.java#handleScheduleMessage (5.5.0)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.header import parse_int, parse_long
from fakemq.protocol.java import int64
from fakemq.protocol.pop import REVIVE_TOPIC_PREFIX
from fakemq.protocol.properties import (
    DELAY_TIME_LEVEL,
    REAL_QUEUE_ID,
    REAL_TOPIC,
    TIMER_DEL_UNIQKEY,
    TIMER_DELAY_MS,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
    TIMER_OUT_MS,
)
from fakemq.protocol.sysflag import UNQUEUED, MessageSysFlag
from fakemq.protocol.timers import TIMER_TOPIC
from fakemq.protocol.v5.properties import encode_properties
from fakemq.store.results import PutMessageStatus

if TYPE_CHECKING:
    from random import Random

    from fakemq.config.v5.model import BrokerConfig5
    from fakemq.store.inner_message import InnerMessage
    from fakemq.store.timer.wheel import TimerWheel

_WISHES: Final = (TIMER_DELIVER_MS, TIMER_DELAY_SEC, TIMER_DELAY_MS)
_ILLEGAL: Final = PutMessageStatus.WHEEL_TIMER_MSG_ILLEGAL


class TimerDiversion:
    """Decides about each put of one broker. ``wheel`` and ``now_ms`` return the present ones."""

    def __init__(
        self,
        config: BrokerConfig5,
        wheel: Callable[[], TimerWheel],
        now_ms: Callable[[], int],
        randomness: Random,
    ) -> None:
        self._config = config
        self._wheel = wheel
        self._now_ms = now_ms
        self._randomness = randomness

    def divert(self, message: InnerMessage) -> PutMessageStatus | None:
        """Change topic and queue of a timer message; return why it is refused, if it is.

        Its real topic and queue go into its properties. Raise NumberFormatError for a delay level
        that is not a number.
        """
        properties = message.properties
        # Differs: what POP writes reaches its topic at once, see `fakemq.broker.v5.pop.revive`.
        if (
            "TIMER_" not in message.properties_string
            or message.topic.startswith(REVIVE_TOPIC_PREFIX)
            or not any(name in properties for name in _WISHES)
        ):
            return None
        if (
            message.topic == TIMER_TOPIC
            or message.sys_flag & MessageSysFlag.TRANSACTION_MASK in UNQUEUED
        ):
            return None
        if parse_int(properties.get(DELAY_TIME_LEVEL, "0")) > 0:
            for name in _WISHES:
                properties.pop(name, None)
            return None
        if TIMER_OUT_MS in properties:
            return None
        if not self._config.timer_wheel_enable:
            return PutMessageStatus.WHEEL_TIMER_NOT_ENABLE
        return self._transform(message)

    def _transform(self, message: InnerMessage) -> PutMessageStatus | None:
        """Source: HookUtils.java#transformTimerMessage (5.5.0)"""
        properties, now_ms = message.properties, self._now_ms()
        try:
            deliver_ms = _deliver_ms(properties, now_ms)
        except NumberFormatError:
            return _ILLEGAL
        if deliver_ms <= now_ms:
            return _ILLEGAL if TIMER_DEL_UNIQKEY in properties else None
        if deliver_ms - now_ms > self._config.timer_max_delay_sec * 1000:
            return _ILLEGAL
        precision_ms = self._wheel().precision_ms
        out_ms = (deliver_ms - 1) // precision_ms * precision_ms
        if self._is_congested(out_ms):
            return PutMessageStatus.WHEEL_TIMER_FLOW_CONTROL
        properties[TIMER_OUT_MS] = str(out_ms)
        properties[REAL_TOPIC] = message.topic
        properties[REAL_QUEUE_ID] = str(message.queue_id)
        message.properties_string = encode_properties(properties)
        message.topic, message.queue_id = TIMER_TOPIC, 0
        return None

    def _is_congested(self, out_ms: int) -> bool:
        """Return whether a slot has too many messages; up to twice as many, chance decides.

        Source: store/timer/TimerMessageStore.java#isReject (5.5.0)
        """
        limit = self._config.timer_congest_num_each_slot
        slot = self._wheel().slot(out_ms)
        count = 0 if slot is None else slot.messages
        if count <= limit:
            return False
        if count >= 2 * limit:
            return True
        return self._randomness.randrange(1000) > 1000 * (count - limit) / (limit + 0.1)


def _deliver_ms(properties: dict[str, str], now_ms: int) -> int:
    """Return when a producer wants its message to be delivered, in ms since the epoch."""
    if (text := properties.get(TIMER_DELAY_SEC)) is not None:
        return int64(now_ms + parse_long(text) * 1000)
    if (text := properties.get(TIMER_DELAY_MS)) is not None:
        return int64(now_ms + parse_long(text))
    return parse_long(properties.get(TIMER_DELIVER_MS, ""))
