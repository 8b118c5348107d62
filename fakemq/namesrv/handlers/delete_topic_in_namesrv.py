"""DELETE_TOPIC_IN_NAMESRV (216): forget a topic's queues.

Behaviour: SUCCESS, whether it was there or not. With a cluster name only the queues of that
cluster's brokers go. A broker that still has the topic brings it back with its next data version.
Ignored: the body.

Source: namesrv/processor/DefaultRequestProcessor.java#deleteTopicInNamesrv (4.9.7)
"""

from __future__ import annotations

from fakemq.dispatch.answers import Reply, Request
from fakemq.namesrv.handlers import or_null
from fakemq.namesrv.namesrv import NameServer, handles
from fakemq.protocol import table
from fakemq.protocol.headers.namesrv import DeleteTopicFromNamesrvRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table.DELETE_TOPIC_IN_NAMESRV)
def delete_topic_in_namesrv(
    node: NameServer, request: Request[DeleteTopicFromNamesrvRequestHeader]
) -> Reply[NoHeader]:
    topic = or_null(request.header, "topic")
    node.registration.delete_topic(topic, request.header.cluster_name)
    return Reply()
