"""QUERY_CONSUME_TIME_SPAN: times of the first, last and last consumed message of each queue."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.clock.calendar import time_text
from fakemq.protocol.bodies.stats import QueryConsumeTimeSpanBody, QueueTimeSpan
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.group import QueryConsumeTimeSpanRequestHeader
from tests.support.broker_lab import BrokerLab
from tests.support.clients import GROUP, TOPIC, send
from tests.support.peer import Peer
from tests.support.time import START_MS

HEADER = QueryConsumeTimeSpanRequestHeader(topic=TOPIC, group=GROUP)


def spans(peer: Peer) -> list[QueueTimeSpan]:
    response = peer.ask(RequestCode.QUERY_CONSUME_TIME_SPAN, HEADER)
    return QueryConsumeTimeSpanBody.decode(response.body).consume_time_span_set


def test_times_of_first_last_and_last_consumed_message_are_listed(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    broker.create_topic(TOPIC, 1)
    for _ in range(3):
        send(peer)
        lab.clock.advance("1s")
    broker.offsets.commit(GROUP, TOPIC, 0, 2)
    (span,) = spans(peer)
    assert (span.min_time_stamp, span.max_time_stamp) == (START_MS, START_MS + 2000)
    assert (span.consume_time_stamp, span.delay_time) == (START_MS + 1000, 1000)
    assert span.consume_time_stamp_str == time_text(START_MS + 1000)
    broker.offsets.commit(GROUP, TOPIC, 0, 3)
    assert spans(peer)[0].delay_time == 0


def test_group_without_offset_counts_from_the_first_message(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    broker.create_topic(TOPIC, 1)
    send(peer)
    lab.clock.advance("1s")
    (span,) = spans(peer)
    assert span.consume_time_stamp == START_MS
    # Java looks for the message at offset -1, and takes its -1 for a time.
    assert span.delay_time == START_MS + 1001
    broker.offsets.commit(GROUP, TOPIC, 0, 0)
    assert spans(peer)[0].delay_time == 1000


def test_empty_queue_has_no_times(broker: Broker, peer: Peer) -> None:
    broker.create_topic(TOPIC, 1)
    (span,) = spans(peer)
    assert (span.min_time_stamp, span.max_time_stamp, span.consume_time_stamp) == (-1, -1, -1)


def test_group_that_did_not_arrive_is_called_null(broker: Broker, peer: Peer) -> None:
    broker.create_topic(TOPIC, 1)
    send(peer)
    broker.offsets.commit("null", TOPIC, 0, 1)
    response = peer.ask(RequestCode.QUERY_CONSUME_TIME_SPAN, ext_fields={"topic": TOPIC})
    (span,) = QueryConsumeTimeSpanBody.decode(response.body).consume_time_span_set
    assert span.delay_time == 0
