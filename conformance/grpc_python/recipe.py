"""Send a message, receive it and acknowledge it: recipe.py ADDRESS plain|tls."""

import sys
from contextlib import suppress

from rocketmq import (
    ClientConfiguration,
    Credentials,
    FilterExpression,
    Message,
    Producer,
    SimpleConsumer,
)
from rocketmq.v5.exception import InternalErrorException

endpoints, tls = sys.argv[1], sys.argv[2] == "tls"
configuration = ClientConfiguration(endpoints, Credentials())

producer = Producer(configuration, ["greetings"], tls_enable=tls)
producer.startup()
message = Message()
message.topic, message.body = "greetings", b"hello"
producer.send(message)

consumer = SimpleConsumer(
    configuration, "readers", {"greetings": FilterExpression()}, tls_enable=tls
)
consumer.startup()
received = []
while not received:
    with suppress(InternalErrorException):  # startup() does not wait until the front knows us
        received = consumer.receive(16, 10)  # hidden from other consumers for 10 s
for one in received:
    print("received", one.body.decode())
    consumer.ack(one)
consumer.shutdown()
producer.shutdown()
