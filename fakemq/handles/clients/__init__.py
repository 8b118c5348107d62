"""Producers and consumers that a test has of its cluster: inside it, or with sockets."""
