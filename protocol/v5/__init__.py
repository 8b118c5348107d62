"""The wire format of RocketMQ 5, where it adds to that of 4.9.7."""
