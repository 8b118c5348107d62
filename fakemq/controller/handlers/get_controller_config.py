"""GET_CONTROLLER_CONFIG (1010): the whole config as ``key=value`` lines, nothing escaped.

Ignored: the body.

Source: controller/processor/ControllerRequestProcessor.java#handleGetControllerConfig (5.5.0)
"""

from __future__ import annotations

from fakemq.config.updates import properties_text
from fakemq.controller.controller import Controller, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table


@handles(table.GET_CONTROLLER_CONFIG)
def get_controller_config(node: Controller, request: Request[NoHeader]) -> Reply[NoHeader]:
    return Reply(body=properties_text(node.config).encode())
