"""A broker with short delay levels, and what a test does to it."""

from __future__ import annotations

from fakemq.config.model import BrokerConfig
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.message import MessageExt
from fakemq.protocol.properties import decode_properties
from fakemq.store.inner_message import inner_message
from tests.support.broker_lab import BrokerLab, send_header

SCHEDULE = "SCHEDULE_TOPIC_XXXX"


class Delays:
    """A broker with levels of 1, 2 and 3 seconds, and a producer."""

    def __init__(self, lab: BrokerLab, levels: str = "1s 2s 3s", **config: int | str) -> None:
        self.lab = lab
        self.config = BrokerConfig(message_delay_level=levels, **config)
        self.broker = lab.broker(self.config)
        self.peer = lab.peer(self.broker.addr)

    def send(
        self, level: int, body: bytes = b"x", *, topic: str = "orders", queue_id: int = 0
    ) -> None:
        header = send_header(topic, queue_id=queue_id, properties=f"DELAY\x01{level}")
        assert self.peer.ask(RequestCode.SEND_MESSAGE_V2, header, body).code == 0

    def put(self, topic: str, properties: str, queue_id: int = 0, sys_flag: int = 0) -> None:
        message = inner_message(
            topic,
            queue_id,
            b"put",
            properties=decode_properties(properties),
            properties_string=properties,
            sys_flag=sys_flag,
        )
        assert self.broker.put(message).ok

    def stored(self, topic: str = "orders", queue_id: int = 0) -> list[MessageExt]:
        return list(self.broker.store.messages_in_queue(topic, queue_id))

    def bodies(self, topic: str = "orders", queue_id: int = 0) -> list[bytes]:
        return [message.body for message in self.stored(topic, queue_id)]

    def timers(self) -> list[tuple[str, int]]:
        """The delay levels that are waited for, and for how long."""
        return [
            (timer.kind, self.lab.clock.due_in_ms(timer))
            for timer in self.lab.clock.timers()
            if timer.kind.startswith("delay_level")
        ]

    def pass_ms(self, ms: int) -> None:
        self.lab.clock.advance_ms(ms)

    def restart(self, how: str) -> None:
        if how == "stop":
            self.broker.stop()
        else:
            self.broker.kill()
        self.lab.network.settle()
        self.start()

    def start(self) -> None:
        self.broker.start()
        self.peer = self.lab.peer(self.broker.addr)
