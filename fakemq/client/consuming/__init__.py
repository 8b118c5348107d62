"""Consumers: push and lite pull, how members of a group divide queues, and the pull schedule."""
