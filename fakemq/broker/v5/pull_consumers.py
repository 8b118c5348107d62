"""Consumers that pull by themselves (CONSUME_ACTIVELY), which rejectPullConsumerEnable keeps away.

Source: broker/processor/ClientManageProcessor.java#heartBeat,
broker/processor/PullMessageProcessor.java#processRequest,
common/MixAll.java#isSysConsumerGroupPullMessage (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.broker.tables.groups import BUILT_IN_GROUPS, SYSTEM_GROUP_PREFIX
from fakemq.config.v5.model import config5
from fakemq.dispatch.answers import Refused
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.topics import FAQ

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fakemq.broker.broker import Broker
    from fakemq.net.session import Session
    from fakemq.protocol.bodies.heartbeat import ConsumerData

_ACTIVELY: Final = "CONSUME_ACTIVELY"
_NOT_REJECTED: Final = frozenset(
    {*BUILT_IN_GROUPS, "DEFAULT_CONSUMER", "SCHEDULE_CONSUMER", "__MONITOR_CONSUMER"}
)


def accepted(broker: Broker, groups: Iterable[ConsumerData]) -> list[ConsumerData]:
    """Return the groups of a heartbeat that are registered."""
    rejects = config5(broker.config).reject_pull_consumer_enable
    return [data for data in groups if not rejects or data.consume_type != _ACTIVELY]


def check_puller(broker: Broker, group: str, session: Session) -> None:
    """Raise Refused for a pull of a consumer whose heartbeats are not accepted, or has sent none.

    In a group of consumers that are pushed to, anyone may pull, as in Java.
    """
    if not config5(broker.config).reject_pull_consumer_enable:
        return
    info = broker.consumers.group(group)
    if info is not None and (info.consume_type != _ACTIVELY or session in info.channels):
        return
    if group not in _NOT_REJECTED and not group.startswith(SYSTEM_GROUP_PREFIX):
        raise Refused(
            ResponseCode.SUBSCRIPTION_NOT_EXIST,
            "the consumer's group info not exist, or the pull consumer is rejected by server."
            f"{FAQ}",
        )
