"""Blocking clients with sockets that a test has of its own cluster, and of one elsewhere."""

from __future__ import annotations

from fakemq.client.faces.push_consumer import PushConsumer
from fakemq.handles.clients.recording import Recorded


class RecordingConsumer(Recorded, PushConsumer):
    """A push consumer with threads and sockets that records what it gets."""
