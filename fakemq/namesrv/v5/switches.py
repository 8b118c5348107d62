"""The config of a name server of 5.5.0, and what it forbids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.config.v5.model import NamesrvConfig5
from fakemq.dispatch.answers import Refused
from fakemq.protocol.codes import ResponseCode

if TYPE_CHECKING:
    from fakemq.namesrv.namesrv import NameServer


def config_of(node: NameServer) -> NamesrvConfig5:
    """Return the config with the keys that only 5.5.0 has; the name server must be one."""
    assert isinstance(node.config, NamesrvConfig5), "a name server of another reference"
    return node.config


def check_enabled(node: NameServer, attribute: str) -> None:
    """Raise Refused if the config key of this attribute is false."""
    if not getattr(config_of(node), attribute):
        raise Refused(ResponseCode.SYSTEM_ERROR, "disable")


def check_ready(node: NameServer) -> None:
    """Raise Refused as long as routes are not answered after a start.

    Source: namesrv/processor/ClientRequestProcessor.java#getRouteInfoByTopic (5.5.0)
    """
    config = config_of(node)
    up_ms = node.clock.now_ms() - node.started_ms
    if config.need_wait_for_service and up_ms < config.wait_seconds_for_service * 1000:
        raise Refused(ResponseCode.SYSTEM_ERROR, "name server not ready")
