"""Asynchronous clients with sockets that a test has of its cluster."""

from __future__ import annotations

from fakemq.client.faces.async_push_consumer import AsyncPushConsumer
from fakemq.handles.clients.recording import Recorded


class AsyncRecordingConsumer(Recorded, AsyncPushConsumer):
    """A `RecordingConsumer` for asynchronous programs; functions may be async or plain."""
