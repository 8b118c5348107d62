"""The messages of server reflection; ``reflection_messages.pyi`` has the types.

Those of ``v1alpha`` have the same fields, so these serve both.
Source: grpc-proto/grpc/reflection/v1/reflection.proto
"""

from __future__ import annotations

from fakemq.protocol.grpc.descriptors import REFLECTION
from fakemq.protocol.grpc.pool import define, types_of

globals().update(types_of(define(REFLECTION)[:1]))
