"""Which keys of a node of 5.5.0 no request may change."""

from __future__ import annotations

from collections.abc import Collection

from fakemq.config.updates import properties_of
from fakemq.dispatch.answers import Refused
from fakemq.protocol.codes import ResponseCode


def check_black_list(body: bytes, always: Collection[str], listed: str) -> None:
    """Raise Refused for properties with a key of ``always`` or of configBlackList (``listed``)."""
    properties = properties_of(body) if body else None
    if properties is not None and not properties.keys().isdisjoint((*always, *listed.split(";"))):
        raise Refused(ResponseCode.NO_PERMISSION, "Can not update config in black list.")
