"""All RPCs of RocketMQ's gRPC API, one row each, those included that 5.5.0 does not answer.

Source: rocketmq-apis/apache/rocketmq/v2/service.proto (2.1.2)
"""

from __future__ import annotations

from typing import Any, Final

from fakemq.protocol.grpc.messages import (
    AckMessageRequest,
    AckMessageResponse,
    ChangeInvisibleDurationRequest,
    ChangeInvisibleDurationResponse,
    EndTransactionRequest,
    EndTransactionResponse,
    ForwardMessageToDeadLetterQueueRequest,
    ForwardMessageToDeadLetterQueueResponse,
    GetOffsetRequest,
    GetOffsetResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    NotifyClientTerminationRequest,
    NotifyClientTerminationResponse,
    PullMessageRequest,
    PullMessageResponse,
    QueryAssignmentRequest,
    QueryAssignmentResponse,
    QueryOffsetRequest,
    QueryOffsetResponse,
    QueryRouteRequest,
    QueryRouteResponse,
    RecallMessageRequest,
    RecallMessageResponse,
    ReceiveMessageRequest,
    ReceiveMessageResponse,
    SendMessageRequest,
    SendMessageResponse,
    SyncLiteSubscriptionRequest,
    SyncLiteSubscriptionResponse,
    TelemetryCommand,
    UpdateOffsetRequest,
    UpdateOffsetResponse,
)
from fakemq.protocol.grpc.rpc import Rpc

SERVICE: Final = "apache.rocketmq.v2.MessagingService"


SEND_MAX_BYTES: Final = 8 * 1024 * 1024
"""Twice the largest body, so that a body that is somewhat too large is refused with its code."""


def _unary(name: str, request: type[Any], response: type[Any], *, streams: bool = False) -> Rpc:
    return Rpc(SERVICE, name, request, response, False, streams)


RPCS: Final = (
    _unary("QueryRoute", QueryRouteRequest, QueryRouteResponse),
    _unary("Heartbeat", HeartbeatRequest, HeartbeatResponse),
    Rpc(
        *(SERVICE, "SendMessage", SendMessageRequest, SendMessageResponse, False, False),
        request_max_bytes=SEND_MAX_BYTES,
    ),
    _unary("QueryAssignment", QueryAssignmentRequest, QueryAssignmentResponse),
    _unary("ReceiveMessage", ReceiveMessageRequest, ReceiveMessageResponse, streams=True),
    _unary("AckMessage", AckMessageRequest, AckMessageResponse),
    _unary(
        "ForwardMessageToDeadLetterQueue",
        ForwardMessageToDeadLetterQueueRequest,
        ForwardMessageToDeadLetterQueueResponse,
    ),
    _unary("PullMessage", PullMessageRequest, PullMessageResponse, streams=True),
    _unary("UpdateOffset", UpdateOffsetRequest, UpdateOffsetResponse),
    _unary("GetOffset", GetOffsetRequest, GetOffsetResponse),
    _unary("QueryOffset", QueryOffsetRequest, QueryOffsetResponse),
    _unary("EndTransaction", EndTransactionRequest, EndTransactionResponse),
    Rpc(SERVICE, "Telemetry", TelemetryCommand, TelemetryCommand, True, True),
    _unary(
        "NotifyClientTermination",
        NotifyClientTerminationRequest,
        NotifyClientTerminationResponse,
    ),
    _unary(
        "ChangeInvisibleDuration",
        ChangeInvisibleDurationRequest,
        ChangeInvisibleDurationResponse,
    ),
    _unary("RecallMessage", RecallMessageRequest, RecallMessageResponse),
    _unary("SyncLiteSubscription", SyncLiteSubscriptionRequest, SyncLiteSubscriptionResponse),
)

BY_NAME: Final = {rpc.name: rpc for rpc in RPCS}
