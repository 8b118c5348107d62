"""What a slave of 5.5.0 refuses at once: messages, and pulls if slaveReadEnable is off.

Source: broker/processor/SendMessageProcessor.java#rejectRequest,
PullMessageProcessor.java#rejectRequest (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.dispatch.answers import REJECTED, Refused
from fakemq.protocol.codes import ResponseCode

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker


def check_takes_messages(broker: Broker) -> None:
    """Raise Refused at a slave."""
    if broker.config.is_slave:
        raise Refused(ResponseCode.SYSTEM_BUSY, REJECTED)


def refuses_pulls(broker: Broker) -> bool:
    """Return whether it is a slave from which no consumer may read."""
    return broker.config.is_slave and not broker.config.slave_read_enable


def check_serves_pulls(broker: Broker) -> None:
    """Raise Refused at a slave from which no consumer may read."""
    if refuses_pulls(broker):
        raise Refused(ResponseCode.SYSTEM_BUSY, REJECTED)
