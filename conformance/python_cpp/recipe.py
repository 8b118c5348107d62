"""Send a message and receive it: recipe.py NAMESRV_ADDR."""

import sys
from threading import Event

from rocketmq.client import Message, Producer, PushConsumer

namesrv_addr = sys.argv[1]

producer = Producer("shop")
producer.set_namesrv_addr(namesrv_addr)
producer.start()
message = Message("greetings")
message.set_keys("g-1")
message.set_tags("polite")
message.set_body("hello")
producer.send_sync(message)

done = Event()


def receive(message):  # if it raises, the message is delivered again later
    print("received", message.body.decode())
    done.set()


consumer = PushConsumer("readers")
consumer.set_namesrv_addr(namesrv_addr)
consumer.subscribe("greetings", receive)
consumer.start()
done.wait()
consumer.shutdown()
producer.shutdown()
