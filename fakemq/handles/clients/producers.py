"""The producer inside the cluster that `Cluster.producer` returns."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Unpack

from msgspec.structs import astuple

from fakemq.client.faces.options import ProducerOptions
from fakemq.client.faces.producer import Producer
from fakemq.client.messages import SendResult
from fakemq.client.producing.producer import ProducerCore
from fakemq.handles.clients.hosting import BlockingInside, address

if TYPE_CHECKING:
    from fakemq.client.faces.messages import BatchOptions
    from fakemq.client.messages import Message
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

    def send_batch(
        self, messages: Iterable[Message], **options: Unpack[BatchOptions]
    ) -> SendResult:
        """Send messages of one topic as one batch, as `fakemq.client.Producer.send_batch`.

        The result may be read as a list of results, which it was before. This is deprecated.
        """
        return BatchResult(*astuple(super().send_batch(messages, **options)))


class BatchResult(SendResult, frozen=True):
    """The result of a batch, which for one more release is also a list of it alone."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> SendResult:
        warnings.warn(
            "send_batch of a producer inside returns one result, as that of every producer: reading"
            " it as a list goes with the next release; send_batches returns a list",
            DeprecationWarning,
            stacklevel=2,
        )
        return (self,)[index]
