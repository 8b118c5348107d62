"""POP of RocketMQ 5.5.0: the broker hands out messages, and gets back those not acknowledged."""
