"""A broker before it registers: the rest of its group must know it first.

A master that comes back waits until each slave follows it, and takes over what the slave that acted
for it knows better: consumer offsets, progress of delay levels and timers. A slave waits until it
follows its master. Without others of its group, or without a master, it registers at once.

Source: broker/BrokerPreOnlineService.java, store/ha/HAConnectionStateNotificationService.java
(5.5.0)
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fakemq.broker.role import MASTER_ID
from fakemq.events.core import Warned, failure
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.errors import ProtocolError
from fakemq.protocol.v5.bodies.tables import (
    ConsumerOffsetSerializeWrapper5,
    DelayOffsetSerializeWrapper5,
)
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.protocol.v5.headers.acting import ExchangeHAInfoRequestHeader

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fakemq.broker.v5.acting.node import ActingBroker
    from fakemq.broker.v5.acting.requests import GroupRequests
    from fakemq.broker.v5.timetable import Timetable
    from fakemq.clock.slices import Steps
    from fakemq.config.v5.model import BrokerConfig5
    from fakemq.dispatch.node import NodeContext
    from fakemq.later import Waits
    from fakemq.protocol.v5.bodies.version import DataVersion5

RETRY_MS = 1_000
CONNECTION_LOOKS, CONNECTION_LOOK_MS = 10, 1_000
"""How often a connection is looked for that is to be made, and how far apart."""

PRE_ONLINE = "pre_online"


class PreOnline:
    """The way of one isolated broker into the routes; ``go_online`` is its end.

    ``go_online`` is called with the lowest id of the group and its address.
    """

    def __init__(
        self,
        node: NodeContext[BrokerConfig5],
        broker: ActingBroker,
        requests: GroupRequests,
        timetable: Timetable,
        go_online: Callable[[int, str | None], None],
    ) -> None:
        self._node = node
        self._broker = broker
        self._requests = requests
        self._timetable = timetable
        self._go_online = go_online
        self._done: set[int] = set()
        """The ids of the slaves that follow, and from which all was taken over."""
        self._life = 0

    def stop(self) -> None:
        """Give up; the next start begins anew."""
        self._life += 1
        self._done.clear()
        self._node.clock.drop_of(self)

    def prepare(self) -> Waits[None]:
        """Come online, however often it takes, and whatever fails on the way."""
        life, tried = self._life, False
        while life == self._life and self._broker.registration.isolated:
            why = "an error, see the journal"
            try:
                why = yield from self._try()
            except Exception as error:
                self._node.journal.add(failure(self._node.name, None, error))
            if not why:
                return
            if not tried and life == self._life:  # ready, and useless: Java's log alone says so
                text = f"isolated: {why}; until then this broker is in no route. It tries again"
                text += f" every {RETRY_MS // 1000} s (skipPreOnline=true waits for nothing)"
                self._node.journal.add(Warned(node=self._node.name, text=text))
                tried = True
            yield self._timetable.pause(PRE_ONLINE, RETRY_MS)

    def _try(self) -> Waits[str]:
        """Go online, or return why that is not possible yet."""
        members = yield from self._requests.members()
        own_id = self._node.config.broker_id
        if members is None:
            return "no name server answers"
        if not members:
            self._go_online(own_id, self._broker.addr)
        elif own_id == MASTER_ID:
            return (yield from self._as_master(members))
        else:
            lowest = min(members.keys() - {own_id}, default=own_id)
            if lowest == MASTER_ID:
                return (yield from self._as_slave(members))
            self._go_online(lowest, members.get(lowest))
        return ""

    def _as_slave(self, members: Mapping[int, str]) -> Waits[str]:
        """Follow the master. Source: BrokerPreOnlineService.java#prepareForSlaveOnline"""
        replication = self._broker.counting
        info = yield from self._requests.exchange_ha_info(members[MASTER_ID])
        if info is None:
            return f"the master at {members[MASTER_ID]} does not answer"
        replication.learn_master(info.master_ha_address, info.master_flush_offset)
        if info.master_ha_address is not None and not (yield from self._wait_for(self._follows)):
            return f"no connection to the master's HA address {info.master_ha_address}"
        self._go_online(MASTER_ID, members[MASTER_ID])
        return ""

    def _follows(self) -> bool:
        client = self._broker.counting.client
        return client is not None and client.connected

    def _as_master(self, members: Mapping[int, str]) -> Waits[str]:
        """Let each member follow, and learn from it what happened meanwhile.

        Source: BrokerPreOnlineService.java#prepareForMasterOnline
        """
        broker = self._broker
        for member, addr in sorted(members.items()):
            if member in self._done:
                continue
            said = ExchangeHAInfoRequestHeader(
                master_ha_address=broker.ha_addr,
                master_flush_offset=broker.init_max_offset,
                master_address=broker.addr,
            )
            if (yield from self._requests.exchange_ha_info(addr, said)) is None:
                return f"{addr} of its group does not answer"
            if not (yield from self._wait_for(partial(self._is_followed_by, addr))):
                return f"no slave at the host of {addr} connects to {broker.ha_addr}"
            if not (yield from self._take_over(addr)):
                return f"{addr} of its group does not say how far it is"
            self._done.add(member)
        self._go_online(MASTER_ID, broker.addr)
        return ""

    def _is_followed_by(self, addr: str) -> bool:
        """Return whether a slave of that host is connected; which one, only its host says."""
        host, is_inside = addr.rpartition(":")[0], self._broker.outbound.is_inside(addr)
        return any(
            end.remote_addr.rpartition(":")[0] == host if end.outside else is_inside
            for end in self._broker.counting.connections
        )

    def _wait_for(self, is_there: Callable[[], bool]) -> Waits[bool]:
        for _ in range(CONNECTION_LOOKS):
            if is_there():
                return True
            yield self._timetable.pause(PRE_ONLINE, CONNECTION_LOOK_MS)
        return is_there()

    # -- what the acting master knows better --------------------------------------------------

    def _take_over(self, addr: str) -> Waits[bool]:
        """Take what a member says, unless this broker has a later version.

        Differs: only counters are compared, no times. They begin at 0 with each start, and commits
        do not count: so tables of a member that lags win, too, see `TableVersions`.
        Source: BrokerPreOnlineService.java#syncMetadataReverse
        """
        bodies: list[bytes] = []
        for code in (
            RequestCode.GET_ALL_DELAY_OFFSET,
            RequestCode.GET_ALL_CONSUMER_OFFSET,
            RequestCode5.GET_TIMER_CHECK_POINT,
        ):
            answer = yield self._requests.invoke(addr, code)
            if answer is None or answer.code != ResponseCode.SUCCESS:
                return False
            bodies.append(answer.body)
        steps = self._take_in_steps(addr, bodies)
        return bool((yield self._node.clock.begin(steps, peer=self, own=True).outcome))

    def _take_in_steps(self, addr: str, bodies: Sequence[bytes]) -> Steps[bool]:
        broker, (delays, offsets, timers) = self._broker, bodies
        tables, versions = broker.slave_tables, broker.versions
        try:
            delayed = DelayOffsetSerializeWrapper5.decode(delays)
            consumed = yield from ConsumerOffsetSerializeWrapper5.decode_in_steps(offsets)
            if _is_as_late(consumed.data_version, versions.offsets):
                yield from broker.offsets.put_all(consumed)
            if _is_as_late(delayed.data_version, versions.delays):
                broker.keep_delays(delayed, delays.decode())
                tables.take_delays(delayed, None)
            tables.take_timer_checkpoint(timers)
        except (ProtocolError, ValueError) as error:
            text = f"what {addr} says of its progress cannot be read: {error}"
            self._node.journal.peer_warnings.warn(self._node.name, "groups of brokers", text)
            return False
        return True


def _is_as_late(theirs: DataVersion5 | None, own: DataVersion5) -> bool:
    if theirs is None:
        return True
    return (theirs.state_version, theirs.counter) >= (own.state_version, own.counter)
