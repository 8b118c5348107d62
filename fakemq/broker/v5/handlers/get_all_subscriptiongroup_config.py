"""GET_ALL_SUBSCRIPTIONGROUP_CONFIG (201): return groups with their version; slaves send it.

Behaviour: as in 4.9.7, in pages of at most splitMetadataSize groups if the request asks for them,
and with the topics that each group is forbidden.

Source: broker/processor/AdminBrokerProcessor.java#getAllSubscriptionGroup (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.table_pages import page_of
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.bodies.tables import SubscriptionGroupWrapper5
from fakemq.protocol.v5.headers.group import (
    GetAllSubscriptionGroupRequestHeader,
    GetAllSubscriptionGroupResponseHeader,
)


@handles(table.GET_ALL_SUBSCRIPTIONGROUP_CONFIG)
def get_all_subscriptiongroup_config(
    broker: Broker5, request: Request[GetAllSubscriptionGroupRequestHeader]
) -> Steps[Reply[GetAllSubscriptionGroupResponseHeader]]:
    header, groups = request.header, broker.groups.snapshot()
    page, version = page_of(
        groups,
        broker.groups.data_version,
        broker.config,
        seq=header.group_seq,
        known_version=header.data_version,
        most=header.max_group_num,
    )
    count = len(groups) if broker.reference.counts_tables else None
    body = SubscriptionGroupWrapper5(
        subscription_group_table=page,
        forbidden_table=broker.forbidden.of(page),
        data_version=version,
    )
    total = GetAllSubscriptionGroupResponseHeader(total_group_num=count)
    return Reply(total, body=(yield from broker.group_page.encoded(body, page)))
