"""Which queues a member of a group consumes: RocketMQ's six strategies.

A strategy is any callable of the type `AllocateStrategy`; those here also have RocketMQ's name.
"""

from __future__ import annotations

from fakemq.client.consuming.allocation.strategies import AllocateStrategy as AllocateStrategy
from fakemq.client.consuming.allocation.strategies import MachineRoomResolver as MachineRoomResolver
from fakemq.client.consuming.allocation.strategies import Strategy as Strategy
from fakemq.client.consuming.allocation.strategies import averagely as averagely
from fakemq.client.consuming.allocation.strategies import averagely_by_circle as averagely_by_circle
from fakemq.client.consuming.allocation.strategies import by_config as by_config
from fakemq.client.consuming.allocation.strategies import by_machine_room as by_machine_room
from fakemq.client.consuming.allocation.strategies import consistent_hash as consistent_hash
from fakemq.client.consuming.allocation.strategies import machine_room_nearby as machine_room_nearby
from fakemq.client.consuming.allocation.strategies import strategy_name as strategy_name
from fakemq.errors import ConfigError, did_you_mean

_BY_NAME = {one.name: one for one in (averagely, averagely_by_circle, consistent_hash())}
_NEED_ARGUMENTS = {
    "CONFIG": "by_config(queues)",
    "MACHINE_ROOM": "by_machine_room(rooms)",
    "MACHINE_ROOM_NEARBY": "machine_room_nearby(inner, resolver)",
}


def by_name(name: str) -> Strategy:
    """Return the strategy with RocketMQ's name: AVG, AVG_BY_CIRCLE or CONSISTENT_HASH.

    Raise ConfigError for another name, and for a strategy that needs arguments.
    """
    found = _BY_NAME.get(name)
    if found is not None:
        return found
    if name in _NEED_ARGUMENTS:
        raise ConfigError(f"the strategy {name} needs arguments: use {_NEED_ARGUMENTS[name]}")
    hint = did_you_mean(name, [*_BY_NAME, *_NEED_ARGUMENTS])
    raise ConfigError(f"there is no strategy {name!r}{hint}")
