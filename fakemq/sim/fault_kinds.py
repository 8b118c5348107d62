"""The kinds of faults that a plan may draw: for links, requests, replication and disks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, product
from typing import TYPE_CHECKING, Any, NamedTuple

from fakemq.dispatch.faults import Answer, Delay, Drop, Duplicate, RequestFault
from fakemq.faults.plan import ALWAYS, ONCE, Point, Scope, When
from fakemq.faults.points import (
    BANDWIDTH,
    BEFORE_REPLY,
    BEFORE_STORE,
    CUT,
    DISK_FULL,
    HOLD_LINK,
    HOLD_SLAVE,
    LATENCY,
    PARTITION,
    REORDER_METADATA,
    RESET,
    SLICE,
    SLOW_FLUSH,
    TEAR_TRANSFER,
    WITHHOLD_ACKS,
    Latency,
)
from fakemq.net.faults.links import plan_of
from fakemq.net.faults.scopes import LinkScope
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.sim.history import MASTER, broker_name
from fakemq.sim.plan import FRONT

if TYPE_CHECKING:
    import random

    from fakemq.broker.broker import Broker
    from fakemq.sim.plan import Plan, PlannedFault
    from fakemq.sim.simulation import Simulation

TO = " to "
"""Separates the two ends in the name of a target: ``broker-a-0 to namesrv-0``."""


class LinkKind(NamedTuple):
    """A point of `fakemq.net.faults.scopes`, and how a drawn amount becomes its action."""

    point: Point[Any]
    action: Callable[[int], object] = lambda amount: None
    amounts: Callable[[random.Random], int] = lambda draw: draw.randrange(2)
    """The default draws 1 for one direction, 0 for both."""
    one_way: Callable[[int], bool] = lambda amount: False
    when: When = ALWAYS
    longest_ms: int = 60_000


LINK_KINDS: dict[str, LinkKind] = {
    "partition": LinkKind(PARTITION, one_way=bool, longest_ms=150_000),
    "hold": LinkKind(HOLD_LINK, one_way=bool, longest_ms=40_000),
    "latency": LinkKind(
        LATENCY,
        lambda amount: Latency(amount, amount // 3),
        lambda draw: draw.choice((3, 80, 900, 4_000)),
    ),
    "bandwidth": LinkKind(
        BANDWIDTH, lambda amount: amount, lambda draw: draw.choice((200, 4_000, 60_000))
    ),
    "slice": LinkKind(SLICE, lambda amount: amount, lambda draw: draw.choice((7, 100, 1_000))),
    "cut": LinkKind(
        CUT, lambda amount: amount, lambda draw: draw.randint(0, 3_000), lambda amount: True, ONCE
    ),
    "reset": LinkKind(RESET, when=ONCE),
}


def links_of(plan: Plan) -> Sequence[str]:
    """Return every link in use, by its two ends; replication links four times, to be drawn more."""
    cluster = plan.cluster
    servers = [f"namesrv-{number}" for number in range(cluster.namesrvs)]
    masters = cluster.leading
    clients = [producer.name for producer in plan.producers]
    clients += [consumer.name for consumer in plan.consumers]
    of_front = plan.front_clients
    pairs = [(node, server) for node in cluster.nodes for server in servers]
    pairs += [pair for pair in combinations(cluster.nodes, 2) if _of_one_group(*pair)] * 4
    pairs += [
        (client, node)
        for client in clients
        for node in ((FRONT,) * len(masters) if client in of_front else masters)
    ]
    if cluster.replicas is not None:
        pairs += list(product(cluster.nodes, cluster.replicas.nodes)) * 2
        pairs += combinations(cluster.replicas.nodes, 2)
    return [TO.join(pair) for pair in pairs]


def _of_one_group(node: str, other: str) -> bool:
    return broker_name(node) == broker_name(other)


def break_link(sim: Simulation, fault: PlannedFault) -> None:
    """Activate a fault for the open and future connections of a link."""
    kind, amount = LINK_KINDS[fault.name], fault.amount
    source, _, target = fault.target.partition(TO)
    source = sim.clients[source].name if source in sim.clients else source
    scope = LinkScope(
        node=target,
        source=frozenset((source,)),
        target=frozenset((target,)),
        one_way=kind.one_way(amount),
    )
    place_link(sim, fault, kind.point, kind.action(amount), scope, kind.when)


def place_link(
    sim: Simulation,
    fault: PlannedFault,
    point: Point[Any],
    action: object,
    scope: LinkScope,
    when: When = ALWAYS,
) -> None:
    """Activate a fault, or one more part of it, for the links of a scope."""
    active = plan_of(sim.core).place(point, action, fault.name, scope, when)
    sim.placed.setdefault(fault, []).append(active)


# Faults that a plan may draw for requests, or their responses: lost, late, refused.
#
# Requests of POP may also be handled twice.

CODES = (RequestCode.SEND_MESSAGE_V2, RequestCode.PULL_MESSAGE)
POP_CODES = (
    *(RequestCode5.POP_MESSAGE, RequestCode5.ACK_MESSAGE, RequestCode5.BATCH_ACK_MESSAGE),
    *(RequestCode5.CHANGE_MESSAGE_INVISIBLETIME, RequestCode5.NOTIFICATION),
)
"""Those of members that pop."""
CONTROL_CODES = (
    *(RequestCode5.CONTROLLER_ELECT_MASTER, RequestCode5.CONTROLLER_REGISTER_BROKER),
    *(RequestCode5.CONTROLLER_GET_REPLICA_INFO, RequestCode5.CONTROLLER_GET_METADATA_INFO),
)
"""Those of brokers under controllers, besides that for another set."""
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


def _kinds_of(what: str) -> dict[str, RequestKind]:
    """Return the kinds of 5.5.0's requests of a sort: also those that handle one twice."""
    kinds = REQUEST_KINDS | {"duplicate_request": RequestKind(lambda amount: Duplicate(2))}
    return {f"{name.removesuffix('request')}{what}": kind for name, kind in kinds.items()}


V5_KINDS = _kinds_of("pop")
"""Of requests of POP: their own rows, so that as many are drawn."""
CONTROL_KINDS = _kinds_of("control")
"""Of what brokers and controllers say to each other."""
_KINDS = REQUEST_KINDS | V5_KINDS | CONTROL_KINDS


def requests_of(plan: Plan) -> Sequence[str]:
    """Return a target for every request code, point and master."""
    return [
        AT.join((code.name, point, node))
        for code in CODES
        for point in POINTS
        for node in plan.cluster.leading
    ]


def pop_requests_of(plan: Plan) -> Sequence[str]:
    """Return the same of requests of POP; none if no member pops."""
    if not plan.pop_groups:
        return ()
    return [
        AT.join((code.name, point, node))
        for code in POP_CODES
        for point in POINTS
        for node in plan.cluster.leading
    ]


def control_requests_of(plan: Plan) -> Sequence[str]:
    """Return the same of requests to controllers, and of their notifications; none without them."""
    cluster = plan.cluster
    if cluster.replicas is None:
        return ()
    asked = product(CONTROL_CODES, POINTS, cluster.replicas.nodes)
    # The set is the one that decides what may be lost: it is drawn as often as the others together.
    sets = product((RequestCode5.CONTROLLER_ALTER_SYNC_STATE_SET,), POINTS, cluster.replicas.nodes)
    notified = product((RequestCode5.NOTIFY_BROKER_ROLE_CHANGED,), ("before_store",), cluster.nodes)
    return [
        AT.join((code.name, point, node))
        for code, point, node in (*asked, *(*sets,) * len(CONTROL_CODES), *notified)
    ]


def disturb_requests(sim: Simulation, fault: PlannedFault) -> None:
    """Affect some of the requests that arrive, until the fault ends."""
    code, point, node = fault.target.split(AT)
    kind = _KINDS[fault.name]
    codes = RequestCode.__members__ | RequestCode5.__members__
    action, scope = kind.action(fault.amount), Scope(code=codes[code], node=node)
    when = When(None, None, PROBABILITY)
    what = f"{fault.name} {fault.target}"
    sim.placed[fault] = [sim.core.faults.place(POINTS[point], action, what, scope, when)]


# Faults that a plan may draw for replication and disks.
#
# Slaves that append nothing, acknowledgements that are withheld, slow flushes, full disks.

LOG_BYTES_A_MINUTE = 100_000
"""More than the busiest plan writes to one broker in a minute."""


def slaves(plan: Plan) -> Sequence[str]:
    return [node for node in plan.cluster.nodes if not node.endswith(MASTER)]


def disks(plan: Plan) -> Sequence[str]:
    return plan.cluster.nodes if plan.cluster.on_disk else ()


def disks_without_old_files(plan: Plan) -> Sequence[str]:
    """Masters whose log stays one file: a full disk deletes older files, and messages with them."""
    cluster = plan.cluster
    if cluster.log_file_bytes < LOG_BYTES_A_MINUTE * plan.minutes:
        return ()
    return [node for node in cluster.nodes if node.endswith(MASTER)]


def hold_slave(sim: Simulation, fault: PlannedFault) -> None:
    """Stop the slave's appends; it resumes when the fault ends."""
    hold(sim, fault, sim.core.brokers[fault.target])


def hold(sim: Simulation, fault: PlannedFault, slave: Broker) -> None:
    """Stop the appends of a slave until a fault ends."""

    def resume() -> None:
        client = None if slave.ha is None else slave.ha.client
        if client is not None and client.end is not None:
            client.end.resume_appends()

    scope = Scope(node=slave.name)
    _place(sim, fault, HOLD_SLAVE, slave.store.max_phy_offset, scope, ALWAYS, resume)


def withhold_acks(sim: Simulation, fault: PlannedFault) -> None:
    """Withhold the slave's acknowledgements from its master until the fault ends."""

    def release() -> None:
        for broker in sim.core.brokers.values():
            for end in list(broker.ha.connections) if broker.ha is not None else ():
                if end.peer_node == fault.target:
                    end.redeliver_ack()

    _place(sim, fault, WITHHOLD_ACKS, None, Scope(peer=fault.target), ALWAYS, release)


def tear_transfer(sim: Simulation, fault: PlannedFault) -> None:
    """Break off the next transfer to the slave after ``fault.amount`` bytes."""
    _place(sim, fault, TEAR_TRANSFER, fault.amount, Scope(peer=fault.target), ONCE)


def reorder_metadata(sim: Simulation, fault: PlannedFault) -> None:
    """Deliver the slave's metadata responses out of order: each after the response to the next."""
    _place(sim, fault, REORDER_METADATA, None, Scope(node=fault.target), ALWAYS)


def slow_flush(sim: Simulation, fault: PlannedFault) -> None:
    """Make every flush of the log take ``fault.amount`` milliseconds."""
    _place(sim, fault, SLOW_FLUSH, fault.amount, Scope(node=fault.target), ALWAYS)


def disk_full(sim: Simulation, fault: PlannedFault) -> None:
    """Make the broker refuse new messages until the fault ends."""
    space = sim.core.brokers[fault.target].store.disk_space
    scope = Scope(node=fault.target)
    _place(sim, fault, DISK_FULL, None, scope, ALWAYS, lambda: space.fill(None))
    space.fill(sim.placed[fault][0])


def _place(
    sim: Simulation,
    fault: PlannedFault,
    point: Point[Any],
    action: object,
    scope: Scope,
    when: When,
    on_end: Callable[[], None] = lambda: None,
) -> None:
    what = f"{fault.name} of {fault.target}"
    active = sim.core.faults.place(point, action, what, scope, when, on_end=on_end)
    sim.placed.setdefault(fault, []).append(active)
