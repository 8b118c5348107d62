"""GET_ALL_SUBSCRIPTIONGROUP_CONFIG (201): return groups with their version; slaves send it.

Behaviour: as in 4.9.7, in pages of at most splitMetadataSize groups if the request asks for them,
and with the topics that each group is forbidden.

Source: broker/processor/AdminBrokerProcessor.java#getAllSubscriptionGroup (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.broker.handlers_5_5_0 import handles
from fakemq.broker.parts_5_5_0 import parts_of
from fakemq.broker.table_pages import page_of
from fakemq.clock.slices import Steps
from fakemq.config.model_5_5_0 import later
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table_5_5_0
from fakemq.protocol.bodies.tables_5_5_0 import SubscriptionGroupWrapper5
from fakemq.protocol.headers.group_5_5_0 import (
    GetAllSubscriptionGroupRequestHeader,
    GetAllSubscriptionGroupResponseHeader,
)


@handles(table_5_5_0.GET_ALL_SUBSCRIPTIONGROUP_CONFIG)
def get_all_subscriptiongroup_config(
    broker: Broker, request: Request[GetAllSubscriptionGroupRequestHeader]
) -> Steps[Reply[GetAllSubscriptionGroupResponseHeader]]:
    header, groups = request.header, broker.groups.snapshot()
    page, version = page_of(
        groups,
        broker.groups.data_version,
        later(broker.config),
        seq=header.group_seq,
        known_version=header.data_version,
        most=header.max_group_num,
    )
    body = SubscriptionGroupWrapper5(
        subscription_group_table=page,
        forbidden_table=parts_of(broker).forbidden.of(page),
        data_version=version,
    )
    total = GetAllSubscriptionGroupResponseHeader(total_group_num=len(groups))
    return Reply(total, body=(yield from body.encode_in_steps()))
