"""The subscription groups of a broker.

Source: broker/subscription/SubscriptionGroupManager.java (4.9.7)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec.structs

from fakemq.broker.tables.kept_text import KeptText
from fakemq.broker.tables.persistence import TABLES
from fakemq.clock.slices import finished
from fakemq.dispatch.outcomes import required
from fakemq.events.core import GroupChanged
from fakemq.protocol.bodies.group import (
    V5_SETTINGS,
    SubscriptionGroupConfig,
    SubscriptionGroupWrapper,
)
from fakemq.protocol.bodies.topic import DataVersion
from fakemq.protocol.java import java_concurrent_map_order
from fakemq.protocol.topics import LMQ_PREFIX, TOOLS_GROUP

if TYPE_CHECKING:
    from fakemq.broker.tables.persistence import ConfigFile
    from fakemq.clock.slices import Steps
    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.node import NodeContext

SYSTEM_GROUP_PREFIX = "CID_RMQ_SYS_"
_TABLE_CAPACITY = 1024
"""The capacity of Java's table, which decides the order in the file."""

BUILT_IN_GROUPS = (
    TOOLS_GROUP,
    "FILTERSRV_CONSUMER",
    "SELF_TEST_C_GROUP",
    "CID_ONS-HTTP-PROXY",
    "CID_ONSAPI_PULL",
    "CID_ONSAPI_PERMISSION",
    "CID_ONSAPI_OWNER",
)


class SubscriptionGroupManager:
    """The subscription groups of one broker, by name."""

    def __init__(
        self,
        node: NodeContext[BrokerConfig],
        file: ConfigFile[SubscriptionGroupWrapper],
        *,
        name_error: Callable[[str], str | None],
    ) -> None:
        self._node = node
        self._file = file
        self.kept = KeptText(
            TABLES["subscriptionGroup.json"],
            _TABLE_CAPACITY,
            lambda: self._table,
            lambda: SubscriptionGroupWrapper(data_version=self.data_version),
        )
        self._table: dict[str, SubscriptionGroupConfig] = {}
        self._light = node.config.enable_lmq
        """Whether groups called ``%LMQ%…`` have the default config, and no other.

        Source: broker/subscription/LmqSubscriptionGroupManager.java (4.9.7)
        """
        self._name_error = name_error
        """Returns why no group of this name is created by asking for it; None if one may be."""
        self.data_version = DataVersion()
        self.reset()

    def find(self, group: str) -> SubscriptionGroupConfig | None:
        """Return the group's config; None for an unknown group.

        An unknown group is created if autoCreateSubscriptionGroup is on, and a system group also
        without it, unless enableCreateSysGroup of 5.5.0 is off.

        Source: SubscriptionGroupManager.java#findSubscriptionGroupConfig (4.9.7)
        """
        if self._light and group.startswith(LMQ_PREFIX):
            return SubscriptionGroupConfig(group_name=group)
        config = self._table.get(group)
        if config is None and (
            self._node.config.auto_create_subscription_group
            or (group.startswith(SYSTEM_GROUP_PREFIX) and self._node.config.enable_create_sys_group)
        ):
            if self._name_error(group) is not None:
                return None
            config = SubscriptionGroupConfig(group_name=group)
            self.update(config)
        return config

    def update(self, config: SubscriptionGroupConfig) -> None:
        """Create or replace a group, but no light one; raise NullFieldError if it has no name."""
        group = required(config.group_name, "SubscriptionGroupConfig", "groupName")
        if self._light and group.startswith(LMQ_PREFIX):
            return
        how = "updated" if group in self._table else "created"
        self._table[group] = self._complete(config)
        self._changed(group, how)

    def delete(self, group: str) -> bool:
        """Remove a group; return False if there was none."""
        if self._table.pop(group, None) is None:
            return False
        self._changed(group, "deleted")
        return True

    def disable_consume(self, group: str) -> bool:
        """Suspend a group; return False if there is none, or it is suspended already.

        Like Java, this writes no file.
        """
        config = self._table.get(group)
        if config is None or not config.consume_enable:
            return False
        self._table[group] = msgspec.structs.replace(config, consume_enable=False)
        self._note_change(group, "updated")
        return True

    def __contains__(self, group: object) -> bool:
        """Return whether there is a group; none is created, and no light one is listed."""
        return group in self._table

    def existing(self, group: str | None) -> SubscriptionGroupConfig | None:
        """Return the config of a listed group; none is created."""
        return None if group is None else self._table.get(group)

    def names(self) -> Collection[str]:
        """Return the names of all groups."""
        return list(self._table)

    def snapshot(self) -> Mapping[str, SubscriptionGroupConfig]:
        """Return all groups as they are now, read-only."""
        return MappingProxyType(dict(self._table))

    def wrapper(self) -> SubscriptionGroupWrapper:
        """Return all groups with their version, as code 201 sends them."""
        return SubscriptionGroupWrapper(
            subscription_group_table=dict(self._table), data_version=self.data_version
        )

    def persisted(self) -> SubscriptionGroupWrapper:
        """Return all groups as subscriptionGroup.json contains them.

        Source: SubscriptionGroupManager.java#encode (4.9.7)
        """
        return finished(self.kept.captured())

    def load(self, saved: SubscriptionGroupWrapper) -> None:
        """Add the groups of a file to those of a first start, or replace them.

        Their version begins again: Java cannot set the version that it has read.
        Source: SubscriptionGroupManager.java#decode (4.9.7)
        """
        for group in java_concurrent_map_order(saved.subscription_group_table):
            self._table[group] = self._complete(saved.subscription_group_table[group])
            self.kept.changed(group)

    def replace(self, wrapper: SubscriptionGroupWrapper) -> Steps[None]:
        """Replace all groups and their version by those of the master; slaves do this.

        The file is written in steps.

        Source: broker/slave/SlaveSynchronize.java#syncSubscriptionGroupConfig (4.9.7)
        """
        self.kept.clear()
        self._table = dict(wrapper.subscription_group_table)
        self.data_version = wrapper.data_version
        yield from self._file.persist_change()

    def reset(self) -> None:
        """Return to the groups of a first start."""
        self.kept.clear()
        groups = (*BUILT_IN_GROUPS, *self._node.reference.built_in_groups)
        self._table = {
            group: self._complete(SubscriptionGroupConfig(group_name=group)) for group in groups
        }
        self.data_version = DataVersion(timestamp=self._node.clock.now_ms(), counter=0)

    def _complete(self, config: SubscriptionGroupConfig) -> SubscriptionGroupConfig:
        """Set what the reference's groups have, and this one does not say; return it.

        4.9.7 drops what a client of 5.5.0 says besides.
        """
        settings = self._node.reference.group_settings
        if not settings:
            for name in V5_SETTINGS:
                setattr(config, name, None)
        for name, value in settings.items():
            if getattr(config, name) is None:
                setattr(config, name, value)
        return config

    def _changed(self, group: str, how: str) -> None:
        self._note_change(group, how)
        self._file.persist()

    def _note_change(self, group: str, how: str) -> None:
        self.kept.changed(group)
        self.data_version = self.data_version.next(self._node.clock.now_ms())
        self._node.journal.add(GroupChanged(node=self._node.name, group=group, how=how))
