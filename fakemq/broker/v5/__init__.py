"""What only a broker of RocketMQ 5 has, or does otherwise."""
