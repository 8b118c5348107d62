"""Which messages are out: popped, and neither acknowledged nor revived."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fakemq.core.inspection import parts5
from fakemq.core.views import Inflight

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle
    from fakemq.broker.broker import Broker
    from fakemq.broker.v5.parts import Parts5
    from fakemq.clock.slices import Steps
    from fakemq.core.cluster import ClusterCore


def inflight(
    core: ClusterCore, chronicle: Chronicle, group: str | None = None
) -> Steps[list[Inflight]]:
    """Return the messages that are out at running masters, the first visible one first.

    ``group`` limits them to one group.
    """
    found = []
    for broker in core.running_masters():
        parts = parts5(broker)
        for one in () if parts is None else _of_broker(broker, parts, chronicle, group):
            found.append(one)
            yield
    return sorted(found, key=lambda one: (one.visible_at_ms, one.topic, one.queue_id, one.offset))


def _of_broker(
    broker: Broker, parts: Parts5, chronicle: Chronicle, group: str | None
) -> Iterator[Inflight]:
    for ck in parts.pop.revive.waiting():
        for offset in ck.unacknowledged() if group in (None, ck.group) else ():
            yield _view(
                broker,
                chronicle,
                ck.group or "",
                ck.topic or "",
                ck.queue_id,
                offset,
                ck.revive_time,
            )
    order = parts.pop.order
    for topic, one, queue_id in order.queues():
        # A list, because others may acknowledge between two steps.
        for offset, visible_at_ms, count in [*order.out(topic, one, queue_id)]:
            if group in (None, one):
                yield _view(
                    broker, chronicle, one, topic, queue_id, offset, visible_at_ms, in_order=count
                )


def _view(
    broker: Broker,
    chronicle: Chronicle,
    group: str,
    topic: str,
    queue_id: int,
    offset: int,
    visible_at_ms: int,
    *,
    in_order: int | None = None,
) -> Inflight:
    """Return the view; ``in_order`` is how often a message in order was out before."""
    name = broker.config.broker_name
    unit = broker.store.queue_unit(topic, queue_id, offset)
    stored = None if unit is None else broker.store.look_message_by_offset(unit[0], unit[1])
    deliveries = chronicle.delivered.get((name, topic, queue_id, offset), ())
    pop = chronicle.pops.last(deliveries, group)
    peer = "" if pop is None else getattr(pop.event, "peer", "")
    return Inflight(
        group=group,
        topic=topic,
        broker=name,
        queue_id=queue_id,
        offset=offset,
        msg_id="" if stored is None else stored.msg_id,
        attempt=1 + (0 if stored is None else stored.reconsume_times) + (in_order or 0),
        visible_at_ms=visible_at_ms - broker.clock.skew_ms,
        client_id="" if pop is None else chronicle.client(broker.name, peer),
        peer=peer,
        attempt_id=None if pop is None else getattr(pop.event, "attempt_id", None),
        in_order=in_order is not None,
    )
