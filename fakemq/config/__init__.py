"""Configuration of a cluster: RocketMQ's keys, files and options. Nothing here starts a node."""
