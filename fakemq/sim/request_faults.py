"""Faults that a plan may draw for requests, or their responses: lost, late, refused.

Requests of POP may also be handled twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fakemq.dispatch.faults import Answer, Delay, Drop, Duplicate, RequestFault
from fakemq.faults.plan import Scope, When
from fakemq.faults.points import BEFORE_REPLY, BEFORE_STORE
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.sim.history import MASTER

if TYPE_CHECKING:
    import random

    from fakemq.sim.plan import Plan, PlannedFault
    from fakemq.sim.simulation import Simulation

CODES = (RequestCode.SEND_MESSAGE_V2, RequestCode.PULL_MESSAGE)
POP_CODES = (
    *(RequestCode5.POP_MESSAGE, RequestCode5.ACK_MESSAGE, RequestCode5.BATCH_ACK_MESSAGE),
    *(RequestCode5.CHANGE_MESSAGE_INVISIBLETIME, RequestCode5.NOTIFICATION),
)
"""Those of members that pop."""
POINTS = {point.name: point for point in (BEFORE_STORE, BEFORE_REPLY)}
AT = " at "
"""Separates the code, the point and the node in the name of a target."""
PROBABILITY = 0.5
"""Each request is affected with this probability, so that a retry can succeed."""
REFUSED = ResponseCode.SYSTEM_BUSY, ResponseCode.SYSTEM_ERROR, ResponseCode.NO_PERMISSION


class RequestKind(NamedTuple):
    """How a drawn amount becomes the action of a fault."""

    action: Callable[[int], RequestFault]
    amounts: Callable[[random.Random], int] = lambda draw: 0


REQUEST_KINDS: dict[str, RequestKind] = {
    "drop_request": RequestKind(lambda amount: Drop()),
    "delay_request": RequestKind(Delay, lambda draw: draw.choice((40, 900, 4_000, 8_000))),
    "refuse_request": RequestKind(
        lambda amount: Answer(amount, "refused by the simulator"), lambda draw: draw.choice(REFUSED)
    ),
}
V5_KINDS: dict[str, RequestKind] = {
    **{f"{name.removesuffix('request')}pop": kind for name, kind in REQUEST_KINDS.items()},
    "duplicate_pop": RequestKind(lambda amount: Duplicate(2)),
}
"""Of requests of POP: their own rows, so that as many are drawn."""


def requests_of(plan: Plan) -> Sequence[str]:
    """Return a target for every request code, point and master."""
    return [
        AT.join((code.name, point, f"{name}{MASTER}"))
        for code in CODES
        for point in POINTS
        for name in plan.cluster.broker_names
    ]


def pop_requests_of(plan: Plan) -> Sequence[str]:
    """Return the same of requests of POP; none if no member pops."""
    if not plan.pop_groups:
        return ()
    return [
        AT.join((code.name, point, f"{name}{MASTER}"))
        for code in POP_CODES
        for point in POINTS
        for name in plan.cluster.broker_names
    ]


def disturb_requests(sim: Simulation, fault: PlannedFault) -> None:
    """Affect some of the requests that arrive, until the fault ends."""
    code, point, node = fault.target.split(AT)
    kind = REQUEST_KINDS.get(fault.name) or V5_KINDS[fault.name]
    codes = RequestCode.__members__ | RequestCode5.__members__
    action, scope = kind.action(fault.amount), Scope(code=codes[code], node=node)
    when = When(None, None, PROBABILITY)
    what = f"{fault.name} {fault.target}"
    sim.placed[fault] = sim.core.faults.place(POINTS[point], action, what, scope, when)
