"""What a config key does here: it acts, it is accepted without effect, or it is refused.

Its row says which (`fakemq.config.keys`); docs/config.md is made from the rows. Tests compare them
with what the code reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.config.model import keys_of, text_of
from fakemq.errors import NotYetSupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakemq.config.model import BrokerConfig, Config, Value


def idle_keys(kind: type[Config], values: Mapping[str, Value]) -> list[str]:
    """Return Java's names of the keys that were set, other than to their default, in vain."""
    return [
        key.name
        for key in keys_of(kind).values()
        if key.attribute in values
        and values[key.attribute] != getattr(kind, key.attribute)
        and key.row.idle is not None
    ]


def missing(config: BrokerConfig) -> dict[str, str]:
    """Return the features that a broker needs and fakemq lacks: Java's key → the line of text."""
    lines = {}
    for key in keys_of(type(config)).values():
        value = getattr(config, key.attribute)
        if "Unsupported(" not in key.declared or value == getattr(type(config), key.attribute):
            continue
        refused = key.row.refused
        assert refused is not None
        yet = "" if refused.for_good else " yet"
        lines[key.name] = (
            f"{key.name}={text_of(value)} is not supported{yet}; supported: {refused.instead}"
        )
    return lines


def require_broker(config: BrokerConfig) -> None:
    """Raise NotYetSupported if this broker needs a missing feature."""
    for line in missing(config).values():
        raise NotYetSupported(f"{config.node_name}: {line}")
