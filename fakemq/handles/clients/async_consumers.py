"""The consumer inside the cluster that `AsyncCluster.consumer` returns."""

from __future__ import annotations

from fakemq.client.consuming.push import PushConsumerCore
from fakemq.client.faces.async_push_consumer import AsyncPushConsumer
from fakemq.handles.clients.async_hosting import AsyncInside
from fakemq.handles.clients.consumers import InsideConsuming


class AsyncInsideConsumer(InsideConsuming, AsyncInside[PushConsumerCore], AsyncPushConsumer):
    """A push consumer inside the cluster, for asynchronous tests; see `InsideConsumer`."""
