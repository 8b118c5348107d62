"""A message as callers hand it to the store.

Source: store/MessageExtBrokerInner.java (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fakemq.protocol.hosts import Host
from fakemq.protocol.properties import encode_properties_as_java

if TYPE_CHECKING:
    from fakemq.protocol.message import MessageExt

LOCAL_HOST: Host = ("127.0.0.1", 0)


class InnerMessage(msgspec.Struct):
    """A message, or a batch, that a caller asks the store to put.

    ``properties_string`` is what gets stored. ``properties`` is the same as a mapping; tags and
    keys are taken from there. Hosts are pairs of an IP address and a port. For `put_messages`,
    ``body`` is the batch as the client sent it, and each message of the batch gets the properties
    on top of its own. The store may change a message that it is given: a delay level, for example,
    changes topic, queue and properties.
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
        """Return a copy of a stored message for another place; no caller waits for its flush.

        The properties are encoded at once: a later change of ``properties`` is not stored.
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
