"""GET_TOPICS_BY_CLUSTER (224): a list of topic names, unless enableTopicList is false.

Behaviour: as in 4.9.7.
Refused: with enableTopicList=false: SYSTEM_ERROR.

Source: namesrv/processor/DefaultRequestProcessor.java#getTopicsByCluster (5.5.0)
"""

from __future__ import annotations

from fakemq.dispatch.answers import Request
from fakemq.dispatch.long_work import Answer
from fakemq.namesrv.handlers import or_null
from fakemq.namesrv.handlers.topic_lists import answer_with
from fakemq.namesrv.namesrv import NameServer
from fakemq.namesrv.v5.handlers import handles
from fakemq.namesrv.v5.switches import check_enabled
from fakemq.protocol import table
from fakemq.protocol.headers.topic import GetTopicsByClusterRequestHeader


@handles(table.GET_TOPICS_BY_CLUSTER)
def get_topics_by_cluster(
    node: NameServer, request: Request[GetTopicsByClusterRequestHeader]
) -> Answer:
    check_enabled(node, "enable_topic_list")
    return answer_with(
        node, request, node.routes.topics_by_cluster(or_null(request.header, "cluster"))
    )
