"""A broker of 5.5.0 on a frozen clock, with a producer of timer messages."""

from __future__ import annotations

from collections.abc import Mapping

from fakemq.config.v5.model import BrokerConfig5
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.message import MessageExt
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab, broker5, send_header
from tests.support.time import START_MS

SECOND_MS = START_MS // 1000 * 1000
"""The second in which the clock begins."""


class TimerLab(BrokerLab):
    """One broker with the topic ``orders``; config values by keyword."""

    def __init__(self, **config: int | str | bool) -> None:
        super().__init__()
        self.config = BrokerConfig5(recall_message_enable=True, **config)
        self.node = broker5(self.broker(self.config, reference=REFERENCE))
        self.node.create_topic("orders", 4)
        self.client = self.peer(self.node.addr)

    def send(
        self,
        key: str = "K",
        more: Mapping[str, str | int] | None = None,
        *,
        topic: str = "orders",
        queue_id: int = 0,
        **properties: str | int,
    ) -> RemotingCommand:
        """Send a message with these properties and ``more``; its unique key is ``key``."""
        all_of_it = {"UNIQ_KEY": key, **properties, **(more or {})}
        text = "".join(f"{name}\x01{value}\x02" for name, value in all_of_it.items())
        header = send_header(topic, properties=text, queue_id=queue_id)
        return self.client.ask(RequestCode.SEND_MESSAGE_V2, header, b"hello")

    def recall(self, handle: str | None, **fields: str) -> RemotingCommand:
        given = {"topic": "orders", "producerGroup": "producers", **fields}
        if handle is not None:
            given["recallHandle"] = handle
        return self.client.ask(RequestCode5.RECALL_MESSAGE, ext_fields=given)

    def messages(self, topic: str = "orders", queue_id: int = 0) -> list[MessageExt]:
        return list(self.node.store.messages_in_queue(topic, queue_id))

    def keys(self, topic: str = "orders", queue_id: int = 0) -> list[str]:
        """Return the unique keys of the messages of a queue."""
        return [message.properties["UNIQ_KEY"] for message in self.messages(topic, queue_id)]

    def kill_and_start(self) -> None:
        self.node.kill()
        self.node.start()
        self.network.settle()
        self.client = self.peer(self.node.addr)
