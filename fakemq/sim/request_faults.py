"""Faults that a plan may draw for requests: sends and pulls, or their responses, lost or late.

Requests may also be refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fakemq.dispatch.faults import Answer, Delay, Drop, RequestFault
from fakemq.faults.plan import Scope, When
from fakemq.faults.points import BEFORE_REPLY, BEFORE_STORE
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.sim.history import MASTER

if TYPE_CHECKING:
    import random

    from fakemq.sim.plan import Plan, PlannedFault
    from fakemq.sim.simulation import Simulation

CODES = (RequestCode.SEND_MESSAGE_V2, RequestCode.PULL_MESSAGE)
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


def requests_of(plan: Plan) -> Sequence[str]:
    """Return a target for every request code, point and master."""
    return [
        AT.join((code.name, point, f"{name}{MASTER}"))
        for code in CODES
        for point in POINTS
        for name in plan.cluster.broker_names
    ]


def disturb_requests(sim: Simulation, fault: PlannedFault) -> None:
    """Affect some of the requests that arrive, until the fault ends."""
    code, point, node = fault.target.split(AT)
    action = REQUEST_KINDS[fault.name].action(fault.amount)
    scope = Scope(code=RequestCode[code], node=node)
    when = When(None, None, PROBABILITY)
    what = f"{fault.name} {fault.target}"
    sim.placed[fault] = sim.core.faults.place(POINTS[point], action, what, scope, when)
