"""UPDATE_NAMESRV_CONFIG (318): set keys of the config at run time, from properties text.

Behaviour: SUCCESS, also without a body. Keys that 4.9.7 does not have and values it cannot read
change nothing; each is a warning in the journal, where Java is silent. ``orderMessageEnable`` works
from the next route on; what is read at the start only (``listenPort``, …) changes on paper.
Refused: text that is no properties file: SYSTEM_ERROR; a key that says where files are:
NO_PERMISSION, and then nothing changes.
Differs: the config file is not rewritten.

Source: namesrv/processor/DefaultRequestProcessor.java#updateConfig,
common/Configuration.java#update (4.9.7)
"""

from __future__ import annotations

from fakemq.config.updates import UNREADABLE, properties_of, update
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.namesrv.namesrv import NameServer, handles
from fakemq.protocol import table
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.table import NoHeader

_NAME = RequestCode.UPDATE_NAMESRV_CONFIG.name
PATH_KEYS = ("kvConfigPath", "configStorePath")


@handles(table.UPDATE_NAMESRV_CONFIG)
def update_namesrv_config(node: NameServer, request: Request[NoHeader]) -> Reply[NoHeader]:
    return set_keys(node, request)


def set_keys(node: NameServer, request: Request[NoHeader]) -> Reply[NoHeader]:
    """Set the keys of a request; raise Refused for what cannot be read or changed."""
    properties = properties_of(request.body)
    if properties is None:
        raise Refused(ResponseCode.SYSTEM_ERROR, UNREADABLE)
    if any(key in properties for key in PATH_KEYS):
        raise Refused(ResponseCode.NO_PERMISSION, "Can not update config path")
    for text in update(node.config, properties):
        node.journal.peer_warnings.warn(node.name, _NAME, f"{_NAME}: {text}")
    return Reply()
