"""Which messages are out: popped, and neither acknowledged nor revived."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.core.views import Inflight

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle
    from fakemq.broker.broker import Broker
    from fakemq.broker.popped import OutMessage
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
        for out in broker.popped(group):
            found.append(_view(broker, chronicle, out))
            yield
    return sorted(found, key=lambda one: (one.visible_at_ms, one.topic, one.queue_id, one.offset))


def _view(broker: Broker, chronicle: Chronicle, out: OutMessage) -> Inflight:
    name = broker.config.broker_name
    unit = broker.store.queue_unit(out.topic, out.queue_id, out.offset)
    stored = None if unit is None else broker.store.look_message_by_offset(unit[0], unit[1])
    deliveries = chronicle.delivered.get((name, out.topic, out.queue_id, out.offset), ())
    pop = chronicle.pops.last(deliveries, out.group)
    peer = "" if pop is None else getattr(pop.event, "peer", "")
    return Inflight(
        group=out.group,
        topic=out.topic,
        broker=name,
        queue_id=out.queue_id,
        offset=out.offset,
        msg_id="" if stored is None else stored.msg_id,
        attempt=1 + (0 if stored is None else stored.reconsume_times) + (out.in_order or 0),
        visible_at_ms=out.visible_at_ms - broker.clock.skew_ms,
        client_id="" if pop is None else chronicle.client(broker.name, peer),
        peer=peer,
        attempt_id=None if pop is None else getattr(pop.event, "attempt_id", None),
        in_order=out.in_order is not None,
    )
