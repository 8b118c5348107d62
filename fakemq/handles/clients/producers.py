"""The producer inside the cluster that `Cluster.producer` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from fakemq.client.faces.options import ProducerOptions
from fakemq.client.faces.producer import Producer
from fakemq.client.producing.producer import ProducerCore
from fakemq.handles.clients.hosting import BlockingInside, address

if TYPE_CHECKING:
    from fakemq.handles.running import Running


class InsideProducer(BlockingInside[ProducerCore], Producer):
    """A `fakemq.client.Producer` inside the cluster, for synchronous tests.

    Its methods return at once as long as the brokers answer. If an answer needs time, because of a
    fault for example, they wait for it while the cluster's clock runs, and raise FakemqError while
    it does not: `send_async` begins such a send.

        sending = producer.send_async("orders", b"tea")
        mq.clock.advance("3s")
        sending.result()
    """

    def __init__(self, running: Running, group: str, **options: Unpack[ProducerOptions]) -> None:
        super().__init__(address(running), group=group, **options)
        self._enter(running, options)
