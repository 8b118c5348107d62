"""The same scenarios on fakemq and on real RocketMQ; nothing here imports the broker's code."""
