"""Producers and consumers that a test has inside its cluster."""
