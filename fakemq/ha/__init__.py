"""Replication: state machines for both ends, and the endpoints that speak for them over links."""
