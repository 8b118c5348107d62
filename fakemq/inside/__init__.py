"""Clients inside a cluster: the client core on the cluster's own clock and memory links.

Nothing here needs a socket, a thread or a loop, and the order of all that happens depends on the
inputs alone.
"""
