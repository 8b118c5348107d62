"""Every endpoint of the control port: each module declares its own when it is imported."""

from __future__ import annotations

from fakemq.control import (  # noqa: F401 - imported for what they declare
    clock,
    discovery,
    faults,
    groups,
    journal,
    nodes,
    openapi,
    topics,
    waiting,
    whole,
)
from fakemq.control.endpoints import ENDPOINTS

__all__ = ["ENDPOINTS"]
