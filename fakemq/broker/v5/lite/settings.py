"""What the attributes of topics and groups say about lite topics.

Source: broker/lite/LiteMetadataUtil.java, remoting/protocol/subscription/SubscriptionGroupConfig
.java, common/TopicConfig.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.header import parse_int
from fakemq.protocol.v5.lite import (
    BIND_TOPIC,
    EXCLUSIVE,
    EXPIRATION,
    MAX_EVENT_COUNT,
    RESET_EXCLUSIVE,
    RESET_UNSUBSCRIBE,
    SUB_MODEL,
    WILDCARD,
    is_parent_type,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakemq.broker.tables.groups import SubscriptionGroupManager
    from fakemq.protocol.bodies.topic import TopicConfig

NEVER: Final = -1
"""The expiration of a topic whose lite topics stay."""


def is_parent(config: TopicConfig | None) -> bool:
    """Return whether a topic is the parent of lite topics."""
    return config is not None and is_parent_type(config.attributes)


def expiration_min(config: TopicConfig) -> int:
    """Return after how many minutes a lite topic of this parent is deleted; `NEVER` if never."""
    if not is_parent(config):
        return NEVER
    return _number(config.attributes or {}, EXPIRATION, NEVER)


def is_bound(groups: SubscriptionGroupManager, group: str, topic: str) -> bool:
    """Return whether a group that exists is bound to a parent."""
    config = groups.existing(group)
    return config is not None and (config.attributes or {}).get(BIND_TOPIC) == topic


class LiteGroups:
    """What the groups of one broker say about lite topics; a group that is asked for is made."""

    def __init__(self, groups: SubscriptionGroupManager) -> None:
        self._groups = groups

    def may_consume(self, group: str) -> bool:
        config = self._groups.find(group)
        return config is not None and config.consume_enable

    def bound_topic(self, group: str | None) -> str | None:
        """Return the parent topic that a group is bound to; None for a usual group."""
        return None if group is None else self._of(group).get(BIND_TOPIC)

    def has_all(self, group: str) -> bool:
        """Return whether the members of a group get the messages of all lite topics."""
        return WILDCARD in self._of(group)

    def is_exclusive(self, group: str) -> bool:
        """Return whether a lite topic has one subscriber of the group at a time."""
        return self._of(group).get(SUB_MODEL) == EXCLUSIVE

    def resets_when_excluded(self, group: str) -> bool:
        """Return whether the next subscriber begins anew when it takes a lite topic over."""
        return self._of(group).get(RESET_EXCLUSIVE, "").lower() == "true"

    def resets_when_unsubscribed(self, group: str) -> bool:
        """Return whether a later subscription begins anew."""
        return self._of(group).get(RESET_UNSUBSCRIBE, "").lower() == "true"

    def max_events(self, group: str, default: int) -> int:
        """Return how many lite topics with messages wait for one client at most."""
        most = _number(self._of(group), MAX_EVENT_COUNT, -1)
        return most if most > 0 else default

    def bound_to(self) -> dict[str, set[str]]:
        """Return the groups that are bound to each topic."""
        found: dict[str, set[str]] = {}
        for group, config in self._groups.snapshot().items():
            topic = (config.attributes or {}).get(BIND_TOPIC)
            if topic is not None:
                found.setdefault(topic, set()).add(group)
        return found

    def _of(self, group: str) -> Mapping[str, str]:
        config = self._groups.find(group)
        return {} if config is None else config.attributes or {}


def _number(attributes: Mapping[str, str], name: str, default: int) -> int:
    try:
        return parse_int(attributes.get(name, ""))
    except NumberFormatError:
        return default
