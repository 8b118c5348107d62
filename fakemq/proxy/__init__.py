"""The gRPC front: RocketMQ 5's proxy in cluster mode, over the brokers of its own cluster."""
