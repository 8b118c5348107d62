"""Records of queues that no store of ours can have, as another program may have written them."""

from __future__ import annotations

from fakemq.protocol.layout.codecs import RECORD_HEAD
from fakemq.protocol.message import record_struct
from fakemq.store.store import MessageStore

_QUEUE_ID_AT = record_struct("total_size", "magic_code", "body_crc").size


def rename(store: MessageStore, phy_offset: int, topic: str, queue_id: int = 0) -> None:
    """Change topic and queue id in a stored record; the topic must keep its number of bytes."""
    found = store.log.find_file(phy_offset)
    assert found is not None
    file, first = found
    at = phy_offset - first
    size_bytes, _ = RECORD_HEAD.unpack_from(file.view, at)
    message = store.look_message_by_offset(phy_offset)
    assert message is not None
    old, new = message.topic.encode(), topic.encode()
    assert len(old) == len(new)
    record = bytes(file.view[at : at + size_bytes])
    where = record.index(bytes([len(old)]) + old) + 1
    file.write_at(at + where, new, 0)
    file.write_at(at + _QUEUE_ID_AT, queue_id.to_bytes(4, signed=True), 0)
