"""Replication: for each end a state machine, and an endpoint that connects it to a link."""
