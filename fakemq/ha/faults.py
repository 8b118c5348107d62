"""What faults do to replication: slaves held, reports withheld, transfers torn, answers late.

Each part has the list of what may befall it, and comes here only when there is something in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.faults.plan import Scope
from fakemq.faults.points import HOLD_SLAVE, REORDER_METADATA, TEAR_TRANSFER, WITHHOLD_ACKS

if TYPE_CHECKING:
    from fakemq.faults.plan import ActiveFault
    from fakemq.ha.link import MasterEnd, SlaveEnd
    from fakemq.ha.metadata_sync import SlaveSynchronize


def limit_of(end: SlaveEnd) -> int | None:
    """Up to which offset a slave may append now; None for no limit."""
    placed = _hold(end)
    return None if placed is None else placed.action


def held(end: SlaveEnd, limit: int) -> None:
    """A slave has something that it may not append."""
    placed = _hold(end)
    if placed is not None:
        placed.hit(end.node, f"what its master sends from offset {limit} on")


def _hold(end: SlaveEnd) -> ActiveFault[int] | None:
    """The hold that counts: nothing goes beyond any of them, so the smallest offset's."""
    happening = Scope(node=end.node)
    holds = [placed for placed in end.faults.at(HOLD_SLAVE) if placed.scope.covers(happening)]
    return min(holds, key=lambda placed: placed.action, default=None)


def withholds(end: MasterEnd, offset: int) -> bool:
    """Whether a slave's report is not to be heard."""
    placed = end.faults.choose(WITHHOLD_ACKS, Scope(node=end.node, peer=end.peer_node))
    if placed is None:
        return False
    placed.hit(end.node, f"the report of {end.peer_node} to have all before {offset}")
    return True


def torn(end: MasterEnd, data: bytes) -> bool:
    """Send a slave the beginning of a transfer and hang up, if it is to be torn."""
    placed = end.faults.choose(TEAR_TRANSFER, Scope(node=end.node, peer=end.peer_node))
    if placed is None:
        return False
    seq = placed.hit(end.node, f"a transfer of {len(data)} bytes to {end.peer_node}")
    with end.faults.journal.because(seq):
        end.break_off(data[: placed.action])
    return True


def late(synchronize: SlaveSynchronize, node: str, code: int, name: str) -> int | None:
    """The journal's number of what has an answer come late; None if it comes in time."""
    placed = synchronize.faults.choose(REORDER_METADATA, Scope(code=code, node=node))
    return None if placed is None else placed.hit(node, f"the master's answer to {name}")
