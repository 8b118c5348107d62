"""Kinds of events of the gRPC front. ``client_id`` is what a client calls itself, or ""."""

from __future__ import annotations

from fakemq.events.core import Event


class RpcReceived(Event, frozen=True, kw_only=True, gc=False):
    """A message of an RPC arrived, before any check of it."""

    rpc: str
    """The name of the RPC, such as ``SendMessage``."""
    peer: str
    client_id: str


class RpcHandled(Event, frozen=True, kw_only=True, gc=False):
    """An RPC has its result."""

    rpc: str
    peer: str
    client_id: str
    status: str
    """The name of the code in the answer, such as ``OK``; else that of gRPC's status."""


class HandleRenewed(Event, frozen=True, kw_only=True, gc=False):
    """The front changed when a message of a push consumer becomes visible again."""

    group: str
    topic: str
    queue_id: int
    queue_offset: int
    client_id: str
    invisible_ms: int
    """How long from now."""
    why: str
    """``renewed``, ``took too long``, ``client left`` or ``not delivered``."""


class OrphanAsked(Event, frozen=True, kw_only=True, gc=False):
    """A producer was asked whether its half message is to be committed."""

    topic: str
    transaction_id: str
    client_id: str
    peer: str
