"""A message on its way into the store. Source: store/MessageExtBrokerInner.java (4.9.7)"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fakemq.protocol.hosts import Host
from fakemq.protocol.properties import encode_properties_as_java

if TYPE_CHECKING:
    from fakemq.protocol.message import MessageExt

LOCAL_HOST: Host = ("127.0.0.1", 0)


class InnerMessage(msgspec.Struct):
    """What a handler gives the store to put; fields behind ``body`` are given by name.

    ``properties_string`` is what gets stored; ``properties`` the same as a mapping, where tags and
    keys are taken from. Hosts are pairs of an IP address and a port. For `put_messages`, ``body``
    is the batch as the client sent it, and the properties are those that every member gets on top
    of its own.
    """

    topic: str
    queue_id: int
    body: bytes
    properties: dict[str, str] = {}
    properties_string: str = ""
    flag: int = 0
    sys_flag: int = 0
    born_timestamp_ms: int = 0
    born_host: Host = LOCAL_HOST
    store_host: Host = LOCAL_HOST
    reconsume_times: int = 0
    prepared_transaction_offset: int = 0
    wait_store_msg_ok: bool = True

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
