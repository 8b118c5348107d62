"""Heartbeats as clients of 5.5.0 send them."""

from __future__ import annotations

from fakemq.protocol.bodies.body import Int
from fakemq.protocol.bodies.heartbeat import HeartbeatData


class HeartbeatData5(HeartbeatData):
    """A heartbeat with a fingerprint is of the second form, which may leave subscriptions out.

    Source: remoting/protocol/heartbeat/HeartbeatData.java (5.5.0)
    """

    heartbeat_fingerprint: Int = 0
    without_sub: bool = False
