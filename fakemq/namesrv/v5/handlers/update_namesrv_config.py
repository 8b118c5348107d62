"""UPDATE_NAMESRV_CONFIG (318): set keys of the config at run time, from properties text.

Behaviour: as in 4.9.7.
Refused: a key of configBlackList, as it was at the start, or one that no list frees:
NO_PERMISSION, and then nothing changes.

Source: namesrv/processor/DefaultRequestProcessor.java#updateConfig, #initConfigBlackList (5.5.0)
"""

from __future__ import annotations

from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.config_black_list import check_black_list
from fakemq.namesrv.handlers.update_namesrv_config import set_keys
from fakemq.namesrv.v5.namesrv import NameServer5, handles
from fakemq.protocol import table
from fakemq.protocol.table import NoHeader

ALWAYS = ("configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome")


@handles(table.UPDATE_NAMESRV_CONFIG)
def update_namesrv_config(node: NameServer5, request: Request[NoHeader]) -> Reply[NoHeader]:
    check_black_list(request.body, ALWAYS, node.config.config_black_list)
    return set_keys(node, request)
