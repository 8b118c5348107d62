"""Replication under a controller (5.5.0): roles change, logs are truncated, a set is in sync."""
