"""The replication of RocketMQ 5, where it differs."""
