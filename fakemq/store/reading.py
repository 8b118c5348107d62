"""The get path: from a queue offset to the records of one get, and whether memory has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.protocol.layout.codecs import CONSUME_QUEUE_UNIT as UNIT
from fakemq.protocol.message import LEAST_TAGS_CODE
from fakemq.store.consumequeue import UNIT_BYTES
from fakemq.store.results import GetMessageResult, GetMessageStatus, found_records

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fakemq.config.model import BrokerConfig
    from fakemq.store.commitlog import CommitLog
    from fakemq.store.consumequeue import ConsumeQueue
    from fakemq.store.message_filter import MessageFilter


_FOUND: Final = GetMessageStatus.FOUND
_NO_MATCHED_MESSAGE: Final = GetMessageStatus.NO_MATCHED_MESSAGE
_LEAST_TAGS_CODE: Final = LEAST_TAGS_CODE

MAX_ENTRIES: Final = 20_000
"""How many entries a get reads at most, whatever the config and the request say; the next get
continues behind."""


def read_queue(
    queue: ConsumeQueue | None,
    log: CommitLog,
    config: BrokerConfig,
    is_slave: bool,
    memory_bytes: int,
    offset: int,
    max_msg_nums: int,
    message_filter: MessageFilter | None,
) -> GetMessageResult:
    """Return messages of a queue from a queue offset on, or where to continue instead.

    Differs: a get reads at most `MAX_ENTRIES` entries, and ends when its filter has cost too much.
    ``memory_bytes`` is how far behind the log's end a record counts as in memory.
    Source: store/DefaultMessageStore.java#getMessage (4.9.7)
    """
    min_offset, max_offset = (0, 0) if queue is None else (queue.min_offset, queue.max_offset)
    if queue is None or not max_offset:
        status, next_offset = GetMessageStatus.NO_MESSAGE_IN_QUEUE, 0
    elif offset < min_offset:
        status, next_offset = GetMessageStatus.OFFSET_TOO_SMALL, min_offset
    elif offset == max_offset:
        status, next_offset = GetMessageStatus.OFFSET_OVERFLOW_ONE, offset
    elif offset > max_offset:
        status, next_offset = GetMessageStatus.OFFSET_OVERFLOW_BADLY, max_offset
    else:
        units = queue.units_from(offset)
        if units is not None:
            result = GetMessageResult(_NO_MATCHED_MESSAGE, offset, min_offset, max_offset)
            # maxFilterMessageSize: 800 entries of 20 bytes, or as many as the get may return.
            some_bytes = max(config.max_filter_message_size, max_msg_nums * UNIT_BYTES, UNIT_BYTES)
            units = units[: min(some_bytes, MAX_ENTRIES * UNIT_BYTES)]
            if message_filter is not None or not gather_all(
                result, units, log, config, memory_bytes, max_msg_nums
            ):
                gather(
                    result, queue, units, log, config, memory_bytes, max_msg_nums, message_filter
                )
            return result
        status, next_offset = GetMessageStatus.OFFSET_FOUND_NULL, queue.next_file_offset(offset)
    if is_slave and not config.offset_check_in_slave:
        next_offset = offset  # a slave may only be behind its master: it corrects no client
    return GetMessageResult(status, next_offset, min_offset, max_offset)


def gather_all(
    result: GetMessageResult,
    units: memoryview,
    log: CommitLog,
    config: BrokerConfig,
    memory_bytes: int,
    max_msg_nums: int,
) -> bool:
    """Do what `gather` does without a filter, if all entries read are in memory and in one file.

    Return False, and change nothing, if it is otherwise.
    """
    max_count, max_bytes = _limits(config, max_msg_nums)[0]
    # One more than may be returned: the limits decide where the get ends, and not the entries.
    entries = list(UNIT.iter_unpack(units[: (max(max_count, 1) + 1) * UNIT_BYTES]))
    max_phy_offset = log.max_offset
    found = log.find_file(entries[0][0])
    if found is None or entries[0][0] < max_phy_offset - memory_bytes:
        return False
    file, first = found
    end = first + file.position
    buffers: list[memoryview] = []
    run_start = run_end = entries[0][0]
    view, count, total_bytes, behind = file.view, 0, 0, 0
    for phy_offset, size_bytes, _ in entries:
        if phy_offset < behind or phy_offset + size_bytes > end:
            return False
        behind = phy_offset
        if count and (count >= max_count or total_bytes + size_bytes > max_bytes):
            break
        if phy_offset != run_end:
            if run_end > run_start:
                buffers.append(view[run_start - first : run_end - first])
            run_start = phy_offset
        run_end = phy_offset + size_bytes
        count += 1
        total_bytes += size_bytes
    if run_end > run_start:
        buffers.append(view[run_start - first : run_end - first])
    result.status = _FOUND
    result.buffers = buffers
    result.message_count = count
    result.buffer_total_size = total_bytes
    result.next_begin_offset += count
    result.fall_behind_bytes = max_phy_offset - behind
    result.suggest_pulling_from_slave = result.fall_behind_bytes > memory_bytes
    return True


def gather(
    result: GetMessageResult,
    queue: ConsumeQueue,
    units: memoryview,
    log: CommitLog,
    config: BrokerConfig,
    memory_bytes: int,
    max_msg_nums: int,
    message_filter: MessageFilter | None,
) -> None:
    """Fill ``result`` with records that ``units`` of a queue point at, and move its next offset.

    The first match is always taken, then as many as the limits allow; entries further behind the
    log's end than ``memory_bytes`` have the limits of the disk. Records that touch in the log
    become one slice. Source: store/DefaultMessageStore.java#getMessage (4.9.7)
    """
    # Over 70 lines: one loop over the entries, which calls little for each.
    in_memory, on_disk = _limits(config, max_msg_nums)
    max_phy_offset = log.max_offset
    disk_before = max_phy_offset - memory_bytes
    status = GetMessageStatus.NO_MATCHED_MESSAGE
    view = units  # of the file that has [first, end); none yet
    first = end = run_start = run_end = gone_before = total_bytes = count = phy_offset = 0
    looked_at = len(units) // UNIT_BYTES
    for index, (phy_offset, size_bytes, tags_code) in enumerate(UNIT.iter_unpack(units)):
        if phy_offset < gone_before:
            continue
        if count:
            max_count, max_bytes = on_disk if phy_offset < disk_before else in_memory
            if count >= max_count or total_bytes + size_bytes > max_bytes:
                looked_at = index
                break
        if message_filter is not None and not message_filter.is_matched_by_consume_queue(
            tags_code if tags_code >= _LEAST_TAGS_CODE else queue.tags_code_of(tags_code)
        ):
            status = GetMessageStatus.NO_MATCHED_MESSAGE
            continue
        record_end = phy_offset + size_bytes
        if phy_offset < first or record_end > end:
            found = log.find_file(phy_offset)
            if found is None or record_end > found[1] + found[0].position:
                status = GetMessageStatus.MESSAGE_WAS_REMOVING
                gone_before = log.next_file_offset(phy_offset)
                continue
            if run_end > run_start:
                result.buffers.append(view[run_start - first : run_end - first])
            file, first = found
            view, end = file.view, first + file.position
            run_start = run_end = phy_offset
        if message_filter is not None and not message_filter.is_matched_by_commit_log(
            view[phy_offset - first : record_end - first]
        ):
            status = GetMessageStatus.NO_MATCHED_MESSAGE
            if message_filter.is_spent:
                looked_at = index + 1
                break
            continue
        if phy_offset != run_end:
            if run_end > run_start:
                result.buffers.append(view[run_start - first : run_end - first])
            run_start = phy_offset
        run_end = record_end
        count += 1
        total_bytes += size_bytes
        gone_before = 0
    if run_end > run_start:
        result.buffers.append(view[run_start - first : run_end - first])
    result.status = GetMessageStatus.FOUND if count else status
    result.message_count = count
    result.buffer_total_size = total_bytes
    result.next_begin_offset += looked_at
    result.fall_behind_bytes = max_phy_offset - phy_offset
    result.suggest_pulling_from_slave = result.fall_behind_bytes > memory_bytes


def _limits(config: BrokerConfig, max_msg_nums: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the most records and bytes of one get: from memory, and from disk."""
    return (
        (
            min(max_msg_nums, config.max_transfer_count_on_message_in_memory),
            config.max_transfer_bytes_on_message_in_memory,
        ),
        (
            min(max_msg_nums, config.max_transfer_count_on_message_in_disk),
            config.max_transfer_bytes_on_message_in_disk,
        ),
    )


def offsets_found(result: GetMessageResult, offset: int) -> Sequence[int]:
    """Return the queue offsets of the records that a get from ``offset`` on has found."""
    # No message was passed over, as without a filter: the records need not be read.
    if offset + result.message_count == result.next_begin_offset:
        return range(offset, result.next_begin_offset)
    return tuple(found for found, _ in found_records(result))  # an event cannot be changed
