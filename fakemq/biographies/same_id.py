"""Finds out why several messages of a topic have one message id, and so come more than once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING

from fakemq.biographies.because import named, sent_answer, times_text
from fakemq.biographies.steps import ONE_WAY
from fakemq.errors import printable
from fakemq.events.core import LogAppended, ScheduledDelivered, TransactionEnded
from fakemq.events.timers import TimerDelivered
from fakemq.journal.journal import clock_text
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.topics import DLQ_PREFIX, RETRY_PREFIX, SCHEDULE_TOPIC, TRANS_HALF_TOPIC

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle, Record
    from fakemq.clock.slices import Steps
    from fakemq.journal.entries import Entry

_COMMITS_AND_TIMES = (TransactionEnded, ScheduledDelivered, TimerDelivered)
_LINES_AT_MOST = 3
_TIMES_AT_MOST = 4
"""How many of the sends of one message are shown."""
_OTHERS = (RETRY_PREFIX, DLQ_PREFIX, SCHEDULE_TOPIC, TRANS_HALF_TOPIC)
"""Begins of topics in which a message always has further records."""


def stored_again(
    chronicle: Chronicle, wants: Callable[[str], bool], name: Callable[[Record], str]
) -> Steps[list[str]]:
    """Return one line for each message id that several messages of a wanted topic have."""
    found: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record, entry in list(chronicle.appended.items()):
        yield
        event = entry.event
        assert isinstance(event, LogAppended)
        if event.msg_id and wants(event.topic) and not event.topic.startswith(_OTHERS):
            source = chronicle.made_from.get(record)
            # Others are made of a message of the same topic.
            if source is None or isinstance(source[1].event, _COMMITS_AND_TIMES):
                found[event.topic, event.msg_id].append(record)
    several = {key: records for key, records in found.items() if len(records) > 1}
    lines = []
    for (topic, msg_id), records in list(several.items())[:_LINES_AT_MOST]:
        what = (
            f"{name(records[0])} of {topic}: stored {times_text(len(records))} with the id {msg_id}"
        )
        lines.append(f"{what}: {_why(chronicle, records)}")
        yield
    if len(several) > _LINES_AT_MOST:
        lines.append(f"and {len(several) - _LINES_AT_MOST} more ids that several messages have")
    return [*map(printable, lines)]


def _why(chronicle: Chronicle, records: list[Record]) -> str:
    commits = [chronicle.made_from[one][1] for one in records if one in chronicle.made_from]
    ended = [one for one in commits if isinstance(one.event, TransactionEnded)]
    if len(ended) == len(records):
        shown = [_committed(one) for one in ended[:_TIMES_AT_MOST]]
        return (
            f"its transaction was committed {times_text(len(ended))}, {_joined(shown, len(ended))}"
        )
    sends = list(dict.fromkeys(_first(chronicle, one) for one in records))
    shown = [_sent(chronicle, one) for one in sends[:_TIMES_AT_MOST]]
    if len(sends) == 1 and sends[0] is not None:
        return f"it was sent once, {shown[0]}, and its broker stored it again when its time came"
    again = "several sends had the id"
    if len(sends) > 1 and not any(_is_settled(chronicle, one) for one in sends[:-1]):
        again = "a producer sends again what is not answered, or answered with an error"
    return f"{again}; sent {_joined(shown, len(sends))}"


def _joined(shown: list[str], number: int) -> str:
    more = [f"{number - len(shown)} times more"] if number > len(shown) else []
    return ", ".join((*shown, *more))


def _committed(entry: Entry) -> str:
    asked = getattr(entry.event, "from_check", False)
    how = "when it was asked" if asked else "by its producer"
    return f"{how} at {clock_text(entry.at_ms)}"


def _first(chronicle: Chronicle, record: Record) -> Entry | None:
    """Return the entry that stored the record of which a record was made; None if forgotten."""
    while record in chronicle.made_from:
        record = chronicle.made_from[record][0]
    return chronicle.appended.get(record)


def _sent(chronicle: Chronicle, entry: Entry | None) -> str:
    if entry is None:
        return "before the journal begins"
    answer = sent_answer(chronicle, entry)
    if answer != ONE_WAY:
        answer = f"answered {answer}" if answer else "not answered"
    hits = chronicle.hits.get(entry.cause)
    if hits:
        answer = named(hits[0].event)
    return f"at {clock_text(entry.at_ms)} ({answer})"


def _is_settled(chronicle: Chronicle, entry: Entry | None) -> bool:
    """Return whether a producer has no cause to send again: no fault acted on the answer SUCCESS,
    or it waits for none."""
    if entry is None or sent_answer(chronicle, entry) == ONE_WAY:
        return True
    code = chronicle.answers.get(entry.cause)
    return code == ResponseCode.SUCCESS and not chronicle.hits.get(entry.cause)
