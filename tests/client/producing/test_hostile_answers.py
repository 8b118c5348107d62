"""A producer survives brokers and name servers that answer anything."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fakemq.client.errors import MQBrokerError, MQClientError, RemotingError
from fakemq.client.messages import LocalTransactionState
from fakemq.protocol.command import FLAG_RESPONSE, RemotingCommand
from tests.support.hostile_answers import OUTCOMES, Hostile
from tests.support.producer_lab import ProducerLab, order

ERRORS = (MQBrokerError, MQClientError, RemotingError)

FIELDS = ("msgId", "queueId", "queueOffset", "transactionId", "MSG_REGION", "TRACE_ON")
VALUES = ("0", "-1", "x", "", "true", str(2**63 - 1), str(10**11), "0A" * 16, "F" * 32, "r\x02P")
RESULTS = st.builds(
    lambda code, fields: RemotingCommand(code, ext_fields=fields, flag=FLAG_RESPONSE),
    st.sampled_from([0, 0, 0, 10, 11, 12, 1, 2, 14, 17]),
    st.dictionaries(st.sampled_from(FIELDS), st.sampled_from(VALUES), max_size=6),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    outcomes=st.lists(OUTCOMES | RESULTS, min_size=1, max_size=20),
    trace=st.booleans(),
    latency=st.booleans(),
)
def test_every_way_to_send_ends_with_a_result_or_an_error_of_ours(
    outcomes: list[Any], trace: bool, latency: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.clear()
    lab = ProducerLab("a", "b", topics=("orders", "RMQ_SYS_TRACE_TOPIC"))
    Hostile(lab.carrier, outcomes)
    producer = lab.producer(
        trace=trace, send_latency_fault_enable=latency, check=lambda message: None
    )
    with caplog.at_level(logging.ERROR, "fakemq.client"):
        for task in (
            producer.start(),
            producer.send(order()),
            producer.send_batch([order(), order()]),
            producer.send_in_transaction(order(), lambda _: LocalTransactionState.COMMIT_MESSAGE),
            producer.request(order(), 3_000),
            producer.send_oneway(order()),
            producer.queues("orders"),
            producer.send(order(), sharding_key="k"),
            producer.shutdown(),
        ):
            ended = lab.carrier.start(task)
            lab.carrier.advance(60_000)
            assert ended, "it hangs"
            error = ended[0][1]
            assert error is None or isinstance(error, ERRORS), error
        assert not [one for one in caplog.records if one.msg.startswith("the task")], caplog.text
    assert not lab.services.is_used
    assert len(lab.services.tasks) == 4
