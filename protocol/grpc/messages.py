"""The messages and enums of RocketMQ's gRPC API, by their names; ``messages.pyi`` has the types.

The wire knows them as ``apache.rocketmq.v2.<name>``.
Source: rocketmq-apis/apache/rocketmq/v2/*.proto (2.1.2, the version that 5.5.0 has)
"""

from __future__ import annotations

from fakemq.protocol.grpc.descriptors import MESSAGING
from fakemq.protocol.grpc.pool import define, types_of

globals().update(types_of(define(MESSAGING)))
