"""Headers that only RocketMQ 5 has."""
