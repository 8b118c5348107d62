"""Brokers of RocketMQ 5.3.2."""
