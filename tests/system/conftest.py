"""Fixtures of clusters that speak TLS."""

from __future__ import annotations

from tests.support.tls_peers import authority, enforcing

__all__ = ["authority", "enforcing"]
