"""HEART_BEAT (34): register a client and its groups, by either form of heartbeat.

Behaviour: as in 4.9.7, but a group that does not exist and cannot be created is passed over. The
answer to a heartbeat with a fingerprint says whether that of a group has changed. One without
subscriptions keeps those that its groups have. With rejectPullConsumerEnable consumers that pull by
themselves are not registered; without enableRegisterProducer, where half messages are refused, no
further producers are.

Source: broker/processor/ClientManageProcessor.java#heartBeat, #heartBeatV2,
broker/client/ProducerManager.java#registerProducer (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.handlers.heart_beat import register
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.pull_consumers import accepted
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.outcomes import bean_of
from fakemq.protocol import table
from fakemq.protocol.bodies.heartbeat import ProducerData
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5.bodies.heartbeat import HeartbeatData5


@handles(table.HEART_BEAT)
def heart_beat(broker: Broker5, request: Request[NoHeader]) -> Steps[Reply[NoHeader] | None]:
    heartbeat = bean_of(request, HeartbeatData5)
    heartbeat.consumer_data_set = accepted(broker, heartbeat.consumer_data_set)
    heartbeat.producer_data_set = _accepted_producers(broker, request, heartbeat)
    if heartbeat.without_sub:
        for data in heartbeat.consumer_data_set:
            known = broker.consumers.subscriptions(data.group_name or "")
            data.subscription_data_set = list((known or {}).values())
    with broker.persistence.at_once():  # each group that is made would write the whole table
        heartbeat.consumer_data_set = [
            data
            for data in heartbeat.consumer_data_set
            if data.group_name is None or broker.groups.find(data.group_name) is not None
        ]
    reply = yield from register(broker, request, heartbeat)
    if reply is None:
        return None
    fingerprint, known_ones = heartbeat.heartbeat_fingerprint, broker.fingerprints
    changed = not fingerprint
    for data in heartbeat.consumer_data_set:
        group = data.group_name or ""
        changed |= known_ones.get(group, fingerprint) != fingerprint
        if broker.consumers.group(group) is not None:
            known_ones[group] = fingerprint
    reply.ext_fields = {
        "IS_SUPPORT_HEART_BEAT_V2": "true",
        "IS_SUB_CHANGE": "true" if changed else "false",
    }
    return reply


def _accepted_producers(
    broker: Broker5, request: Request[NoHeader], heartbeat: HeartbeatData5
) -> list[ProducerData]:
    """Return the groups of producers that are registered."""
    config = broker.config
    if config.enable_register_producer or not config.reject_transaction_message:
        return heartbeat.producer_data_set
    return [
        data
        for data in heartbeat.producer_data_set
        if broker.producers.is_member(data.group_name, request.session)
    ]
