"""The kinds of gRPC clients that a plan may have; only runs with a front import them."""

from __future__ import annotations

from fakemq.sim.consumers import Consumer
from fakemq.sim.front_consumers import FrontConsumer, FrontFifoConsumer, FrontPushConsumer
from fakemq.sim.front_producers import (
    FrontDelayedProducer,
    FrontOrderedProducer,
    FrontPriorityProducer,
    FrontProducer,
    FrontTransactionalProducer,
)

PRODUCERS: dict[str, type[FrontProducer]] = {
    "grpc_sync": FrontProducer,
    "grpc_priority": FrontPriorityProducer,
    "grpc_ordered": FrontOrderedProducer,
    "grpc_delayed": FrontDelayedProducer,
    "grpc_transactional": FrontTransactionalProducer,
}
CONSUMERS: dict[str, type[Consumer]] = {
    "grpc_simple": FrontConsumer,
    "grpc_push": FrontPushConsumer,
    "grpc_fifo": FrontFifoConsumer,
}
