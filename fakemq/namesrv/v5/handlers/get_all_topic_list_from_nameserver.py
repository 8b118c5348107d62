"""GET_ALL_TOPIC_LIST_FROM_NAMESERVER (206): all topic names, unless enableAllTopicList is false.

Behaviour: as in 4.9.7.
Refused: with enableAllTopicList=false: SYSTEM_ERROR.

Source: namesrv/processor/DefaultRequestProcessor.java#getAllTopicListFromNameserver (5.5.0)
"""

from __future__ import annotations

from fakemq.dispatch.answers import Request
from fakemq.dispatch.long_work import Answer
from fakemq.namesrv.handlers.topic_lists import answer_with
from fakemq.namesrv.namesrv import NameServer
from fakemq.namesrv.v5.handlers import handles
from fakemq.namesrv.v5.switches import check_enabled
from fakemq.protocol import table
from fakemq.protocol.table import NoHeader


@handles(table.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
def get_all_topic_list_from_nameserver(node: NameServer, request: Request[NoHeader]) -> Answer:
    check_enabled(node, "enable_all_topic_list")
    return answer_with(node, request, node.routes.all_topics())
