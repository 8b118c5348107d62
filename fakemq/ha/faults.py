"""Effects of faults of replication: slaves held, reports withheld, transfers torn, answers late.

Each function takes the plan and the names of the nodes. The ends of a connection call it only if
the list of faults at their point is not empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.faults.plan import Scope
from fakemq.faults.points import HOLD_SLAVE, REORDER_METADATA, TEAR_TRANSFER, WITHHOLD_ACKS

if TYPE_CHECKING:
    from fakemq.faults.plan import ActiveFault, FaultPlan


def append_limit(plan: FaultPlan, slave: str) -> int | None:
    """Return the offset up to which a slave may append now; None for no limit."""
    fault = _hold(plan, slave)
    return None if fault is None else fault.action


def hit_hold(plan: FaultPlan, slave: str, limit: int) -> None:
    """Journal that a slave has bytes that it may not append."""
    fault = _hold(plan, slave)
    if fault is not None:
        fault.hit(slave, f"what its master sends from offset {limit} on")


def _hold(plan: FaultPlan, slave: str) -> ActiveFault[int] | None:
    # Several holds may apply, and the slave appends beyond none of them: the lowest offset counts.
    scope = Scope(node=slave)
    holds = [fault for fault in plan.at(HOLD_SLAVE) if fault.scope.covers(scope)]
    return min(holds, key=lambda fault: fault.action, default=None)


def withholds(plan: FaultPlan, master: str, slave: str, offset: int) -> bool:
    """Return whether a master ignores a slave's report."""
    fault = plan.choose(WITHHOLD_ACKS, Scope(node=master, peer=slave))
    if fault is None:
        return False
    fault.hit(master, f"the report of {slave} to have all before {offset}")
    return True


def torn_transfer(
    plan: FaultPlan, master: str, slave: str, size_bytes: int
) -> tuple[int, int] | None:
    """Return the ``seq`` of a fault's hit and the byte at which it tears a transfer, or None."""
    fault = plan.choose(TEAR_TRANSFER, Scope(node=master, peer=slave))
    if fault is None:
        return None
    return fault.hit(master, f"a transfer of {size_bytes} bytes to {slave}"), fault.action


def late_answer(plan: FaultPlan, slave: str, code: int, name: str) -> int | None:
    """Return the ``seq`` of the hit of a fault that delays a master's answer; None if none does."""
    fault = plan.choose(REORDER_METADATA, Scope(code=code, node=slave))
    return None if fault is None else fault.hit(slave, f"the master's answer to {name}")
