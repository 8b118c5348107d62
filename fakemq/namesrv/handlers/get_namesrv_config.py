"""GET_NAMESRV_CONFIG (319): the whole config as ``key=value`` lines, nothing escaped.

Ignored: the body.

Source: namesrv/processor/DefaultRequestProcessor.java#getConfig,
common/Configuration.java#getAllConfigsFormatString (4.9.7)
"""

from __future__ import annotations

from fakemq.config.updates import properties_text
from fakemq.dispatch.answers import Reply, Request
from fakemq.namesrv.namesrv import NameServer, handles
from fakemq.protocol import table
from fakemq.protocol.table import NoHeader


@handles(table.GET_NAMESRV_CONFIG)
def get_namesrv_config(node: NameServer, request: Request[NoHeader]) -> Reply[NoHeader]:
    return Reply(body=properties_text(node.config).encode())
