"""Records that were read, written again."""

from __future__ import annotations

from fakemq.protocol.message import MessageExt, encode_record


def encoded_again(message: MessageExt) -> bytes:
    """The record of a decoded message; its CRC is that of the body."""
    return encode_record(
        message.topic,
        message.body,
        message.properties_string,
        queue_id=message.queue_id,
        born_host=message.born_host,
        store_host=message.store_host,
        flag=message.flag,
        sys_flag=message.sys_flag,
        queue_offset=message.queue_offset,
        physical_offset=message.commit_log_offset,
        born_timestamp_ms=message.born_timestamp_ms,
        store_timestamp_ms=message.store_timestamp_ms,
        reconsume_times=message.reconsume_times,
        prepared_transaction_offset=message.prepared_transaction_offset,
    )
