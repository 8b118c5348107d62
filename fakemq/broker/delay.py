"""Messages that are delivered later, by level. Source: store/schedule/ScheduleMessageService.java
(4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.dispatch import Refused
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.header import parse_int
from fakemq.protocol.properties import DELAY_TIME_LEVEL

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker
    from fakemq.store.inner_message import InnerMessage


class ScheduleMessageService:
    """Diverts delayed messages to the schedule topic, and puts them where they belong in time."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def start(self) -> None:
        """Begin to deliver; a broker that starts again goes on from its saved progress."""

    def reset(self) -> None:
        """Nothing is delayed any more."""

    def divert(self, message: InnerMessage) -> None:
        """Send a message with a delay level through the schedule topic."""
        if parse_int(message.properties.get(DELAY_TIME_LEVEL, "0")) > 0:
            raise Refused(ResponseCode.SYSTEM_ERROR, "fakemq: delayed messages are not there yet")
