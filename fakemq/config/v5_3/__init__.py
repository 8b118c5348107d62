"""The config keys of RocketMQ 5.3.2."""
