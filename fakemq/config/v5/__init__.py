"""The config keys of RocketMQ 5."""
