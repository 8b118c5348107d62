"""Tables that a slave copies from its master: topics, offsets, delays, groups.

Source: broker/slave/SlaveSynchronize.java, broker/out/BrokerOuterAPI.java (4.9.7)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from fakemq.clock.timers import next_tick_ms
from fakemq.events.core import Warned
from fakemq.events.replication import MetadataSynchronized
from fakemq.faults.points import REORDER_METADATA
from fakemq.ha.faults import late_answer
from fakemq.protocol.bodies.group import SubscriptionGroupWrapper
from fakemq.protocol.bodies.offset import (
    ConsumerOffsetSerializeWrapper,
    DelayOffsetSerializeWrapper,
)
from fakemq.protocol.bodies.topic import TopicConfigSerializeWrapper
from fakemq.protocol.codes import RequestCode, ResponseCode, code_name
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.errors import ProtocolError
from fakemq.protocol.hosts import vip_addr_beside

if TYPE_CHECKING:
    from fakemq.clock.slices import Steps
    from fakemq.clock.timers import Timer
    from fakemq.ha.node import ReplicatedBroker

TIMEOUT_MS = 3_000
ENTRY_BYTES = 20
"""The size of a table's entry, at least: each is taken over in a step."""

Taking: TypeAlias = "Callable[[], Steps[None]]"
"""Takes a table over."""


class Fetch:
    """One table of the master: the request for it, and what becomes of the answer.

    ``fast``: it is asked for at the master's fast port.
    """

    def __init__(
        self, code: int, take: Callable[[bytes], Steps[None]], *, fast: bool = False
    ) -> None:
        self.code = code
        self.fast = fast
        self.timeout_ms = TIMEOUT_MS
        self.size_bytes = 0
        """The size of what was answered."""
        self._take = take

    @property
    def name(self) -> str:
        return code_name(self.code)

    def request(self) -> RemotingCommand:
        """Return the next request."""
        return RemotingCommand(self.code)

    def received(self, response: RemotingCommand) -> Taking | None:
        """Take an answer; return what takes the table over, or None if there is more to ask for.

        Raise ProtocolError for an answer that is none.
        """
        body = response.body
        self.size_bytes = len(body)
        return lambda: self._take(body)


class SlaveSynchronize:
    """Copies the tables of a slave's master every ten seconds, one request after the other.

    A table may have 100,000 entries: it is taken over in steps, see `fakemq.clock.slices`.
    """

    first_ms = 3_000
    period_ms = 10_000

    def __init__(self, broker: ReplicatedBroker) -> None:
        self._broker = broker
        self._delays = broker.faults.at(REORDER_METADATA)
        self._late: dict[int, tuple[int, Taking]] = {}
        self._master_addr: str | None = None
        self._left: list[Fetch] = []
        self._missed: list[Fetch] = []
        """What came due while others were fetched: it is fetched after them, as Java's tick comes
        late then. Of several, the most tables."""
        self._timer: Timer | None = None
        self._started_ms: dict[bool, int] = {}

    def start(self) -> None:
        """Fetch at the ticks of the grid; without the master's address, nothing is sent."""
        clock = self._broker.clock
        self._started_ms = {outside: clock.elapsed_ms(outside=outside) for outside in (False, True)}

    def stop(self) -> None:
        """Send no more requests."""
        self._left = []
        self._missed = []
        self._late.clear()
        self._broker.clock.drop_of(self)
        self._broker.clock.cancel(self._timer)
        self._timer = None
        self._master_addr = None
        self._started_ms = {}

    def set_master_addr(self, addr: str | None) -> None:
        """Take the master's address from a name server; None if it knows no master."""
        self._master_addr = addr
        if self._timer is None and addr is not None and self._started_ms:
            self._wait(addr)

    def sync_all(self) -> None:
        """Fetch all tables, if the master is known; one that fails is fetched next time."""
        self._fetch(self._tables())

    # -- which tables -------------------------------------------------------------------------

    def _tables(self) -> list[Fetch]:
        """Return what is fetched, in Java's order."""
        return [
            Fetch(RequestCode.GET_ALL_TOPIC_CONFIG, self._take_topics, fast=True),
            Fetch(RequestCode.GET_ALL_CONSUMER_OFFSET, self._take_offsets),
            Fetch(RequestCode.GET_ALL_DELAY_OFFSET, self._take_delays),
            Fetch(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, self._take_groups),
        ]

    def _due_tables(self) -> list[Fetch]:
        """Return what a tick of the grid fetches."""
        return self._tables()

    # -- inside -------------------------------------------------------------------------------

    def _fetch(self, tables: list[Fetch]) -> None:
        if self._left:
            self._missed = max(self._missed, tables, key=len)
            return
        if self._master_addr is None or self._master_addr == self._broker.addr:
            return
        self._left = tables
        self._ask()

    def _wait(self, master_addr: str) -> None:
        clock = self._broker.clock
        outside = not self._broker.outbound.is_inside(master_addr)
        now_ms = clock.elapsed_ms(outside=outside)
        due_ms = next_tick_ms(now_ms + 1, self._started_ms[outside], self.first_ms, self.period_ms)
        self._timer = clock.call_later(
            due_ms - now_ms,
            self._tick,
            kind="slave_sync",
            outside=outside,
            routine=self._skip,
        )

    def _skip(self, ms: int) -> None:
        """Take note that the ticks of so long were skipped."""

    def _tick(self) -> None:
        self._timer = None
        if self._master_addr is not None:
            self._wait(self._master_addr)
            self._fetch(self._due_tables())

    def _ask(self) -> None:
        """Send the next request, if one is left."""
        addr = self._master_addr
        if not self._left or addr is None:
            self._left = []
            missed, self._missed = self._missed, []
            if missed:
                self._fetch(missed)
            return
        fetch = self._left[0]

        def answered(response: RemotingCommand | None) -> None:
            if not self._left or self._left[0] is not fetch:
                return  # stopped meanwhile
            if self._is_done(fetch, response):
                self._left.pop(0)
            self._ask()

        if fetch.fast:
            addr = vip_addr_beside(addr)
        self._broker.outbound.invoke(addr, fetch.request(), fetch.timeout_ms, answered)

    def _is_done(self, fetch: Fetch, response: RemotingCommand | None) -> bool:
        """Take an answer; return False if there is more to ask for."""
        if response is None or response.code != ResponseCode.SUCCESS:
            return True
        try:
            taking = fetch.received(response)
        except (ProtocolError, ValueError) as error:
            self._warn(fetch, error)
            return True
        if taking is None:
            return False
        old = self._late.pop(fetch.code, None) if self._late else None
        if self._delays and (
            seq := late_answer(self._broker.faults, self._broker.name, fetch.code, fetch.name)
        ):
            self._late[fetch.code] = (seq, taking)
        else:
            self._take(fetch, taking)
        if old is not None:
            seq, earlier = old
            with self._broker.journal.because(seq):
                self._take(fetch, earlier)
        return True

    def _take(self, fetch: Fetch, taking: Taking) -> None:
        count = fetch.size_bytes // ENTRY_BYTES
        self._broker.clock.carry_out(self._in_steps(fetch, taking()), peer=self, count=count)

    def _in_steps(self, fetch: Fetch, steps: Steps[None]) -> Steps[None]:
        try:
            yield from steps
        except (ProtocolError, ValueError) as error:  # Java logs it and continues
            self._warn(fetch, error)

    def _warn(self, fetch: Fetch, error: Exception) -> None:
        text = f"the master's answer to {fetch.name} cannot be read: {error}"
        self._broker.journal.add(Warned(node=self._broker.name, text=text))

    def _take_topics(self, body: bytes) -> Steps[None]:
        wrapper = TopicConfigSerializeWrapper.decode(body)
        if wrapper.data_version != self._broker.topics.data_version:
            yield from self._broker.topics.replace(wrapper)
            self._took("topics")

    def _take_offsets(self, body: bytes) -> Steps[None]:
        wrapper = yield from ConsumerOffsetSerializeWrapper.decode_in_steps(body)
        yield from self._broker.offsets.put_all(wrapper)

    def _take_delays(self, body: bytes) -> Steps[None]:
        self._broker.keep_delays(DelayOffsetSerializeWrapper.decode(body), body.decode())
        yield

    def _take_groups(self, body: bytes) -> Steps[None]:
        wrapper = SubscriptionGroupWrapper.decode(body)
        if wrapper.data_version != self._broker.groups.data_version:
            yield from self._broker.groups.replace(wrapper)
            self._took("groups")

    def _took(self, what: str) -> None:
        self._broker.journal.add(MetadataSynchronized(node=self._broker.name, what=what))
