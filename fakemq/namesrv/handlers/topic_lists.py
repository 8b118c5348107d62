"""GET_ALL_TOPIC_LIST_FROM_NAMESERVER (206), GET_TOPICS_BY_CLUSTER (224),
GET_SYSTEM_TOPIC_LIST_FROM_NS (304), GET_UNIT_TOPIC_LIST (311), GET_HAS_UNIT_SUB_TOPIC_LIST (312),
GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST (313): six lists of topic names.

Behaviour: 206 returns every topic that has queues. 224 returns those of the cluster's brokers; an
unknown cluster has none, and that is SUCCESS. 304 returns the names of clusters and brokers, with
some broker's address, which the admin tool then asks for its own system topics. 311 to 313 look at
the unit bits of the first queue data of a topic, as Java meets them.
Refused: 5.5.0 refuses all but 304, if its config says so: SYSTEM_ERROR.
Ignored: the body.

Source: namesrv/processor/DefaultRequestProcessor.java#getAllTopicListFromNameserver,
#getTopicsByCluster, #getSystemTopicListFromNs, #getUnitTopicList, #getHasUnitSubTopicList,
#getHasUnitSubUnUnitTopicList (4.9.7)
"""

from __future__ import annotations

from typing import Any

from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.long_work import Answer, in_slices
from fakemq.namesrv.handlers import or_null
from fakemq.namesrv.namesrv import NameServer, handles
from fakemq.protocol import table
from fakemq.protocol.bodies.route import TopicList
from fakemq.protocol.headers.topic import GetTopicsByClusterRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
def get_all_topic_list_from_nameserver(node: NameServer, request: Request[NoHeader]) -> Answer:
    node.check_lists_topics(every=True)
    return _answer_with(node, request, node.routes.all_topics())


@handles(table.GET_TOPICS_BY_CLUSTER)
def get_topics_by_cluster(
    node: NameServer, request: Request[GetTopicsByClusterRequestHeader]
) -> Answer:
    node.check_lists_topics()
    cluster = or_null(request.header, "cluster")
    return _answer_with(node, request, node.routes.topics_by_cluster(cluster))


@handles(table.GET_SYSTEM_TOPIC_LIST_FROM_NS)
def get_system_topic_list_from_ns(node: NameServer, request: Request[NoHeader]) -> Answer:
    return _answer_with(node, request, node.routes.system_topics())


@handles(table.GET_UNIT_TOPIC_LIST)
def get_unit_topic_list(node: NameServer, request: Request[NoHeader]) -> Answer:
    node.check_lists_topics()
    return _answer_with(node, request, node.routes.unit_topics())


@handles(table.GET_HAS_UNIT_SUB_TOPIC_LIST)
def get_has_unit_sub_topic_list(node: NameServer, request: Request[NoHeader]) -> Answer:
    node.check_lists_topics()
    return _answer_with(node, request, node.routes.has_unit_sub_topics())


@handles(table.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST)
def get_has_unit_sub_ununit_topic_list(node: NameServer, request: Request[NoHeader]) -> Answer:
    node.check_lists_topics()
    return _answer_with(node, request, node.routes.has_unit_sub_un_unit_topics())


def _answer_with(node: NameServer, request: Request[Any], topics: Steps[TopicList]) -> Answer:
    """Answer with a list, which may have 100,000 topics, in slices."""

    def encoded(node: NameServer, request: Request[Any]) -> Steps[Answer]:
        topic_list = yield from topics
        return Reply(body=(yield from topic_list.encode_in_steps()))

    return in_slices(encoded)(node, request)
