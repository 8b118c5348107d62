"""Imports every module with endpoints of the control port; each declares its own on import."""

from __future__ import annotations

from fakemq.control import (  # noqa: F401 - imported for what they declare
    assertions,
    clock,
    controllers,
    discovery,
    faults,
    groups,
    journal,
    nodes,
    openapi,
    overview,
    page,
    topics,
    waiting,
    whole,
)
from fakemq.control.endpoints import ENDPOINTS

__all__ = ["ENDPOINTS"]
