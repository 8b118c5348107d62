"""A message on its way into the store. Source: store/MessageExtBrokerInner.java (4.9.7)"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.protocol.hosts import Host
from fakemq.protocol.properties import encode_properties_as_java

if TYPE_CHECKING:
    from fakemq.protocol.message import MessageExt

LOCAL_HOST: Host = ("127.0.0.1", 0)


class InnerMessage:
    """What a handler gives the store to put.

    ``properties_string`` is what gets stored; ``properties`` the same as a mapping, where tags and
    keys are taken from. Hosts are pairs of an IP address and a port. For `put_messages`, ``body``
    is the batch as the client sent it, and the properties are those that every member gets on top
    of its own.
    """

    __slots__ = (
        "body",
        "born_host",
        "born_timestamp_ms",
        "flag",
        "prepared_transaction_offset",
        "properties",
        "properties_string",
        "queue_id",
        "reconsume_times",
        "store_host",
        "sys_flag",
        "topic",
        "wait_store_msg_ok",
    )

    def __init__(
        self,
        topic: str,
        queue_id: int,
        body: bytes,
        *,
        properties: dict[str, str] | None = None,
        properties_string: str = "",
        flag: int = 0,
        sys_flag: int = 0,
        born_timestamp_ms: int = 0,
        born_host: Host = LOCAL_HOST,
        store_host: Host = LOCAL_HOST,
        reconsume_times: int = 0,
        prepared_transaction_offset: int = 0,
        wait_store_msg_ok: bool = True,
    ) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self.body = body
        self.properties: dict[str, str] = {} if properties is None else properties
        self.properties_string = properties_string
        self.flag = flag
        self.sys_flag = sys_flag
        self.born_timestamp_ms = born_timestamp_ms
        self.born_host = born_host
        self.store_host = store_host
        self.reconsume_times = reconsume_times
        self.prepared_transaction_offset = prepared_transaction_offset
        self.wait_store_msg_ok = wait_store_msg_ok

    @classmethod
    def of(
        cls, stored: MessageExt, topic: str, queue_id: int, properties: dict[str, str]
    ) -> InnerMessage:
        """A stored message once more, elsewhere, with other properties; nobody waits for it.

        Whoever changes ``properties`` afterwards leaves alone what gets stored.
        """
        return cls(
            topic,
            queue_id,
            stored.body,
            properties=properties,
            properties_string=encode_properties_as_java(properties),
            flag=stored.flag,
            sys_flag=stored.sys_flag,
            born_timestamp_ms=stored.born_timestamp_ms,
            born_host=stored.born_host,
            store_host=stored.store_host,
            reconsume_times=stored.reconsume_times,
            wait_store_msg_ok=False,
        )

    def __repr__(self) -> str:
        return f"<message for {self.topic}:{self.queue_id}, {len(self.body)} bytes>"
