"""GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST (313): a list of topic names, unless enableTopicList is false.

Behaviour: as in 4.9.7.
Refused: with enableTopicList=false: SYSTEM_ERROR.

Source: namesrv/processor/DefaultRequestProcessor.java#getHasUnitSubUnUnitTopicList (5.5.0)
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


@handles(table.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST)
def get_has_unit_sub_ununit_topic_list(node: NameServer, request: Request[NoHeader]) -> Answer:
    check_enabled(node, "enable_topic_list")
    return answer_with(node, request, node.routes.has_unit_sub_un_unit_topics())
