"""What only a name server of RocketMQ 5 has, or does otherwise."""
