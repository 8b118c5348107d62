"""POLLING_INFO (200055): return how many pops of a group are held for a queue.

Source: broker/processor/PollingInfoProcessor.java#processRequest (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.sending.checks import consuming_group
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.pop.checks import check_readable, readable_queue
from fakemq.dispatch.answers import NOTHING_SAID, Refused, Reply, Request
from fakemq.protocol.headers.pop import PollingInfoRequestHeader, PollingInfoResponseHeader
from fakemq.protocol.v5 import table


@handles(table.POLLING_INFO)
def polling_info(
    broker: Broker5, request: Request[PollingInfoRequestHeader]
) -> Reply[PollingInfoResponseHeader]:
    header = request.header
    group, topic, queue_id = header.consumer_group, header.topic, header.queue_id
    try:
        check_readable(broker, "peeking message")
        readable_queue(broker, topic, queue_id, request.session)
        consuming_group(broker, group)
    except Refused as refused:
        return Reply(PollingInfoResponseHeader(), code=refused.code, remark=refused.remark)
    count = broker.pop.polling.count(topic, group, queue_id)
    return Reply(PollingInfoResponseHeader(polling_num=count), remark=NOTHING_SAID)
