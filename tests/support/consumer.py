"""A client that consumes by hand, and texts in which what differs from run to run has a name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import fakemq
from fakemq.client import Client
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.send import ConsumerSendMsgBackRequestHeader
from fakemq.protocol.message import MessageExt

GROUP = "billing"
TIMEOUT_MS = 500
"""How long it waits for an answer that may never come."""


class Consumer(Client):
    """A member of `GROUP` that consumes ``orders`` and its own retries."""

    def take(
        self, topic: str, offset: int = 0, *, commit: bool = True, timeout_ms: int | None = None
    ) -> list[MessageExt]:
        """Pull a queue of a topic once and commit what came."""
        (queue,) = self.subscribe_queues(topic)
        result = self.pull(queue, offset, timeout_ms=timeout_ms)
        if commit:
            self.update_offset(queue, result.next_begin_offset, oneway=False)
        return result.messages

    def send_back(self, addr: str, message: MessageExt, max_retries: int = 16) -> None:
        """Say that it could not cope with a message."""
        header = ConsumerSendMsgBackRequestHeader(
            offset=message.commit_log_offset,
            group=GROUP,
            delay_level=0,
            origin_msg_id=message.offset_msg_id,
            origin_topic=message.topic,
            max_reconsume_times=max_retries,
        )
        command = self.instance.command(RequestCode.CONSUMER_SEND_MSG_BACK, header)
        self.run(self.instance.invoke_ok(addr, command))


@contextmanager
def consuming(mq: fakemq.Cluster, *, member: bool = True) -> Iterator[Consumer]:
    """A consumer, which is a member of its group, or only pulls and commits."""
    with Consumer(
        mq.namesrv_addr, consumer_group=GROUP, producer_group="shop", api_timeout_ms=TIMEOUT_MS
    ) as client:
        client.subscribe("orders")
        if member:
            client.heartbeat()
        yield client


def normalised(text: str) -> str:
    """``text`` with ports, ids and client ids of any run replaced by words."""
    text = re.sub(r"127\.0\.0\.1@\d+#\d+", "CLIENT", text)
    text = re.sub(r"127\.0\.0\.1:\d+", "ADDR", text)
    text = re.sub(r"\b[0-9A-F]{32}\b", "ID", text)
    return re.sub(r"memory:\d+", "LINK", text)
