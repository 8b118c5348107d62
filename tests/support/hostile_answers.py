"""Answers of brokers and name servers that may be anything, for tests of consumers."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from fakemq.client.errors import RemotingError
from fakemq.client.operation import Call
from fakemq.protocol.bodies.heartbeat import GetConsumerListByGroupResponseBody
from fakemq.protocol.bodies.queue import LockBatchResponseBody, MessageQueue
from fakemq.protocol.bodies.route import BrokerData, QueueData, TopicRouteData
from fakemq.protocol.command import FLAG_RESPONSE, RemotingCommand
from fakemq.protocol.message import encode_record
from tests.support.played_broker import CLIENT, GROUP
from tests.support.scripted_carrier import HELD, Outcome, ScriptedCarrier
from tests.support.scripted_operation import A

NUMBERS = st.sampled_from(
    ["0", "1", "-1", "2", "9223372036854775807", "-9223372036854775808", "1e3", "x", "", "  7"]
)
FIELDS = ("nextBeginOffset", "minOffset", "maxOffset", "suggestWhichBrokerId", "offset")

RECORDS = st.builds(
    lambda topic, properties, queue_id, offset, times: encode_record(
        topic,
        b"hostile",
        properties,
        queue_id=queue_id,
        born_host=("10.0.0.1", 1),
        store_host=("10.0.0.2", 10911),
        queue_offset=offset,
        physical_offset=offset,
        reconsume_times=times,
    ),
    st.sampled_from(["orders", f"%RETRY%{GROUP}", "others", "a\x01b\x02"]),
    st.sampled_from(["", "TAGS\x01a\x02", "RETRY_TOPIC\x01\x02", "DELAY\x01x\x02UNIQ_KEY\x01\x02"]),
    st.sampled_from([0, 1, -1, 2**31 - 1]),
    st.sampled_from([0, 0, 1, 2, -1, 2**62, 2**63 - 2, 2**63 - 1]),
    st.sampled_from([0, 1, 16, -1, 2**31 - 1]),
)
BODIES = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([b"{}", b"[]", b"null", b'{"consumerIdList":[1]}', b'{"consumerIdList":null}']),
    st.lists(st.sampled_from([CLIENT, "", "z", "\ud83d\ude00", CLIENT]), max_size=3).map(
        lambda ids: GetConsumerListByGroupResponseBody(consumer_id_list=ids).encode()
    ),
    st.builds(
        lambda queues, perm: TopicRouteData(
            queue_datas=[QueueData(broker_name="a", read_queue_nums=queues, perm=perm)],
            broker_datas=[BrokerData(cluster="c", broker_name="a", broker_addrs={0: A})],
        ).encode(),
        st.integers(-1, 5),
        st.sampled_from([0, 2, 4, 6]),
    ),
    st.lists(st.integers(-1, 2), max_size=3).map(
        lambda ids: LockBatchResponseBody(
            lock_ok_mq_set=[
                MessageQueue(topic="orders", broker_name="a", queue_id=one) for one in ids
            ]
        ).encode()
    ),
    st.lists(RECORDS, min_size=1, max_size=3).map(b"".join),
)
CODES = st.sampled_from([0, 0, 0, 1, 2, 17, 19, 20, 21, 22, 24, -5, 99_999])

OUTCOMES = st.one_of(
    st.none(),
    st.none(),
    st.just(HELD),
    st.just(RemotingError("lost", A)),
    st.builds(
        lambda code, fields, body: RemotingCommand(
            code, ext_fields=fields, body=body, flag=FLAG_RESPONSE
        ),
        CODES,
        st.dictionaries(st.sampled_from(FIELDS), NUMBERS, max_size=5),
        BODIES,
    ),
)


class Hostile:
    """Answers requests by a list of outcomes, again and again; None lets the broker answer."""

    def __init__(self, carrier: ScriptedCarrier, outcomes: list[Any]) -> None:
        self._ordinary = carrier.answers
        self._outcomes = outcomes
        self._next = 0
        carrier.answers = self

    def __call__(self, call: Call) -> Outcome:
        outcome = self._outcomes[self._next % len(self._outcomes)]
        self._next += 1
        return self._ordinary(call) if outcome is None else outcome
