"""Makes the front of a cluster: the node, and what handles its calls."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fakemq.net.grpc_call import RpcRoute
from fakemq.protocol.grpc.table import RPCS
from fakemq.proxy import reflection
from fakemq.proxy.consuming import change_renewed
from fakemq.proxy.dispatcher import dispatch
from fakemq.proxy.proxy import Proxy

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable

    from fakemq.broker.broker import Broker
    from fakemq.clock.node_clock import NodeClock
    from fakemq.faults.plan import FaultPlan
    from fakemq.journal.journal import Journal
    from fakemq.namesrv.namesrv import NameServer
    from fakemq.reference import Reference


def make_front(
    clock: NodeClock,
    journal: Journal,
    faults: FaultPlan,
    randomness: random.Random,
    reference: Reference,
    *,
    name_servers: Callable[[], Iterable[NameServer]],
    brokers: Callable[[], Iterable[Broker]],
) -> Proxy:
    """Return a front that is not started yet; see `Proxy`."""
    proxy = Proxy(
        clock,
        journal,
        faults,
        randomness,
        reference,
        name_servers=name_servers,
        brokers=brokers,
    )
    proxy.change_renewed = partial(change_renewed, proxy)
    proxy.paths = {rpc.path: RpcRoute(rpc, partial(dispatch, proxy)) for rpc in RPCS}
    proxy.paths |= reflection.routes()
    return proxy
