"""What the commands show of messages that are popped."""

from __future__ import annotations

import pytest

import fakemq
from fakemq.client.blocking import Client
from fakemq.client.consuming.pop_operations import FROM_FIRST, PopOperations
from fakemq.protocol.pop import pop_retry_topic
from tests.support.command_line import rows, run


@pytest.mark.parametrize("v2", ["false", "true"])
def test_retries_of_popped_messages_are_traced_and_name_no_group(v2: str) -> None:
    config = {"enableRetryTopicV2": v2}
    with (
        fakemq.Cluster(
            reference="5.5.0", topics={"orders": 1}, clock="frozen", config=config
        ) as mq,
        Client(mq.namesrv_addr, consumer_group="billing_a") as client,
    ):
        client.subscribe("orders", "*")
        client.heartbeat()
        mq.seed("orders", ["void"])
        (queue,) = client.subscribe_queues("orders")
        pops = PopOperations(client.instance, "billing_a")
        popped = client.run(pops.pop(queue, invisible_ms=10_000, init_mode=FROM_FIRST))
        (message,) = popped.messages
        mq.clock.advance("2m")
        retry = pop_retry_topic("orders", "billing_a", v2=v2 == "true")
        assert retry in client.topic_names()
        options = "-n", mq.namesrv_addr
        assert [row["group"] for row in rows("groups", *options)] == ["billing_a"]
        wrong = run("lag", retry.removeprefix("%RETRY%"), *options, exit_code=1)
        assert "there is no group" in wrong.stderr
        found = rows("trace", message.stored.msg_id, *options)
        in_retry = rows("trace", message.stored.msg_id, "--topic", retry, *options)
    steps = [(row["step"], row["where"].split()[0]) for row in found if row["kind"] == "step"]
    assert steps == [("stored", "orders"), ("stored to retry", retry)]
    assert [row["group"] for row in in_retry if row["kind"] == "consumed"] == ["billing_a"]
