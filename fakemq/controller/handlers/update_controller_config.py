"""UPDATE_CONTROLLER_CONFIG (1009): set keys of the config at run time, from properties text.

Behaviour: any controller takes it, for itself. SUCCESS, also without a body. Keys that 5.5.0 does
not have and values that it cannot read change nothing; each is a warning in the journal.
Refused: text that is no properties file: SYSTEM_ERROR; a key of configBlackList, as it was at the
start, or one that no list frees: NO_PERMISSION, and then nothing changes.
Differs: the config file is not rewritten.

Source: controller/processor/ControllerRequestProcessor.java#handleUpdateControllerConfig (5.5.0)
"""

from __future__ import annotations

from fakemq.config.updates import UNREADABLE, properties_of, update
from fakemq.controller.controller import Controller, handles
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.dispatch.config_black_list import check_black_list
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.codes import RequestCode5

ALWAYS = ("configBlackList", "configStorePath", "rocketmqHome")
_NAME = RequestCode5.UPDATE_CONTROLLER_CONFIG.name


@handles(table.UPDATE_CONTROLLER_CONFIG)
def update_controller_config(node: Controller, request: Request[NoHeader]) -> Reply[NoHeader]:
    if not request.body:
        return Reply()
    properties = properties_of(request.body)
    if properties is None:
        raise Refused(ResponseCode.SYSTEM_ERROR, UNREADABLE)
    check_black_list(request.body, ALWAYS, node.black_list)
    for text in update(node.config, properties):
        node.journal.peer_warnings.warn(node.name, _NAME, f"{_NAME}: {text}")
    return Reply()
