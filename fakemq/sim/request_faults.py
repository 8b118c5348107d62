"""What a plan may draw for requests: sends and pulls, or their answers, lost, late or refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fakemq.dispatch.dispatcher import BEFORE_REPLY, BEFORE_STORE
from fakemq.dispatch.faults import Answer, Delay, Drop, RequestFault
from fakemq.faults.plan import Scope, When
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.sim.history import MASTER

if TYPE_CHECKING:
    import random

    from fakemq.sim.plan import Plan, PlannedFault
    from fakemq.sim.run import Simulation

CODES = (RequestCode.SEND_MESSAGE_V2, RequestCode.PULL_MESSAGE)
POINTS = {point.name: point for point in (BEFORE_STORE, BEFORE_REPLY)}
AT = " at "
"""Between the code, the point and the node in the name of a target."""
PROBABILITY = 0.5
"""Of each request's being met: who tries again gets through."""
REFUSED = ResponseCode.SYSTEM_BUSY, ResponseCode.SYSTEM_ERROR, ResponseCode.NO_PERMISSION


class RequestKind(NamedTuple):
    """How a fault's action comes from a drawn amount."""

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
    """Every kind of request to every master, as it comes and as its answer leaves."""
    return [
        AT.join((code.name, point, f"{name}{MASTER}"))
        for code in CODES
        for point in POINTS
        for name in plan.cluster.broker_names
    ]


def befall_requests(sim: Simulation, fault: PlannedFault) -> None:
    """Have something happen to some of the requests that come, until it is over."""
    code, point, node = fault.target.split(AT)
    action = REQUEST_KINDS[fault.name].action(fault.amount)
    scope = Scope(code=RequestCode[code], node=node)
    when = When(None, None, PROBABILITY)
    what = f"{fault.name} {fault.target}"
    sim.placed[fault] = sim.core.faults.place(POINTS[point], action, what, scope, when)
