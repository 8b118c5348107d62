"""Producers and consumers that a test has of its cluster: inside it, or with sockets."""

PRODUCERS = "producers"
"""The group of a producer that is given none."""
