"""The life of a lite pull consumer, its polls, and what admin tools see."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fakemq.client.consuming.lite_pull import LitePullConsumerCore
from fakemq.client.consuming.lite_settings import LitePullSettings
from fakemq.client.consuming.settings import Selector
from fakemq.client.errors import MQClientError
from fakemq.client.service_state import ServiceState
from fakemq.client.tasks import Task
from fakemq.errors import ConfigError
from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.lite_lab import LiteLab
from tests.support.played_broker import CLIENT, GROUP
from tests.support.scripted_operation import A, answer

NOT_RUNNING = "The consumer not running, please start it first."


# -- life --------------------------------------------------------------------------------------


def test_start_registers_the_group_and_divides_the_queues() -> None:
    lab = LiteLab(queues=2)
    assert lab.consumer.is_running
    assert lab.consumer.assignment() == [lab.queue(0), lab.queue(1)]
    data = lab.broker.heartbeats[0].consumer_data_set[0]
    assert (data.group_name, data.consume_type) == (GROUP, "CONSUME_ACTIVELY")
    assert data.consume_from_where == "CONSUME_FROM_LAST_OFFSET", "as 4.9.7, whatever is set"
    assert [one.topic for one in data.subscription_data_set] == ["orders"]


def test_consumer_starts_once() -> None:
    lab = LiteLab()
    text = "The PullConsumer service state not OK, maybe started once, RUNNING"
    with pytest.raises(MQClientError, match=text):
        lab.run(lab.consumer.start())


def test_damaged_file_of_offsets_refuses_the_start_and_leaves_the_group_free(
    tmp_path: Path,
) -> None:
    lab = LiteLab(
        started=False, message_model="BROADCASTING", offsets_directory=str(tmp_path / "offsets")
    )
    file = tmp_path / "offsets" / CLIENT / GROUP / "offsets.json"
    file.parent.mkdir(parents=True)
    for one in (file, file.with_name("offsets.json.bak")):
        one.write_text("damaged")
    with pytest.raises(MQClientError, match="readLocalOffset Exception"):
        lab.run(lab.consumer.start())
    assert lab.consumer.state is ServiceState.START_FAILED
    assert not lab.services.is_used


def test_second_consumer_of_a_group_is_refused_and_may_start_later() -> None:
    lab = LiteLab()
    second = LitePullConsumerCore(lab.services, LitePullSettings(group=GROUP))
    with pytest.raises(MQClientError, match=rf"The consumer group\[{GROUP}\] has been created"):
        lab.run(second.start())
    assert second.state is ServiceState.CREATE_JUST
    lab.run(lab.consumer.shutdown())
    lab.run(second.start())
    assert second.is_running


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"group": " "}, "the specified group is blank"),
        ({"group": "DEFAULT_CONSUMER"}, "consumerGroup can not equal DEFAULT_CONSUMER"),
        ({"message_model": "ALL"}, "messageModel is 'ALL'"),
        ({"consume_from": "middle"}, "consumeFromWhere is 'middle'"),
        ({"consume_timestamp": "yesterday"}, "consumeTimestamp is invalid"),
        ({"allocate": None}, "allocateMessageQueueStrategy is null"),
        ({"broker_suspend_max_time_ms": 30_001}, "must greater than brokerSuspendMaxTimeMillis"),
    ],
)
def test_settings_are_checked_at_the_start(settings: dict[str, Any], text: str) -> None:
    lab = LiteLab(started=False, **settings)
    with pytest.raises(MQClientError, match=text):
        lab.run(lab.consumer.start())
    assert lab.consumer.state is ServiceState.START_FAILED
    with pytest.raises(MQClientError, match="START_FAILED"):
        lab.run(lab.consumer.start())


def test_numbers_of_settings_are_whole() -> None:
    lab = LiteLab(started=False, pull_batch_size=0)
    with pytest.raises(ConfigError, match="pull_batch_size=0: expected a whole number from 1 to"):
        lab.run(lab.consumer.start())


@pytest.mark.parametrize(
    "call",
    [
        lambda lab: lab.consumer.poll(),
        lambda lab: lab.consumer.commit(),
        lambda lab: lab.consumer.committed(lab.queue()),
        lambda lab: lab.consumer.offset_for_timestamp(lab.queue(), 0),
        lambda lab: lab.consumer.fetch_message_queues("orders"),
        lambda lab: lab.consumer.seek(lab.queue(), 0),
    ],
)
def test_consumer_is_used_only_while_it_runs(call: Callable[[LiteLab], Task[object]]) -> None:
    lab = LiteLab(started=False)
    with pytest.raises(MQClientError, match=NOT_RUNNING):
        lab.run(call(lab))
    lab.run(lab.consumer.start())
    lab.run(lab.consumer.shutdown())
    with pytest.raises(MQClientError, match=NOT_RUNNING):
        lab.run(call(lab))


def test_shutdown_commits_leaves_and_ends_all_tasks() -> None:
    lab = LiteLab(queues=2)
    lab.put(b"1")
    assert lab.poll() == [b"1"]
    lab.run(lab.consumer.commit(persist=False))
    assert lab.broker.committed() is None
    waiting = lab.carrier.start(lab.consumer.poll(60_000))
    lab.run(lab.consumer.shutdown())
    assert lab.broker.committed() == 1
    assert lab.carrier.codes()[-1] == RequestCode.UNREGISTER_CLIENT
    assert waiting == [([], None)]
    assert lab.consumer.state is ServiceState.SHUTDOWN_ALREADY
    lab.services.shutdown()
    assert len(lab.services.tasks) == 0
    lab.run(lab.consumer.shutdown())


def test_shutdown_before_the_start_does_nothing() -> None:
    lab = LiteLab(started=False)
    lab.run(lab.consumer.shutdown())
    assert lab.consumer.state is ServiceState.CREATE_JUST
    assert lab.carrier.calls == []


def test_messages_polled_and_not_committed_are_left_to_the_next_consumer() -> None:
    lab = LiteLab()
    lab.put(b"1")
    assert lab.poll() == [b"1"]
    lab.run(lab.consumer.shutdown())
    assert lab.broker.committed() == 0


# -- polling -----------------------------------------------------------------------------------


def test_poll_returns_the_messages_of_one_pull() -> None:
    lab = LiteLab(pull_batch_size=3, started=False)
    for number in range(7):
        lab.broker.put(b"%d" % number)
    lab.run(lab.consumer.start())
    assert lab.poll() == [b"0", b"1", b"2"]
    assert lab.poll() == [b"3", b"4", b"5"]
    assert lab.poll() == [b"6"]
    assert lab.poll() == []
    pull = lab.broker.pulls[0]
    assert (pull.max_msg_nums, pull.suspend_timeout_millis, pull.sys_flag) == (3, 20_000, 0x16)


def test_poll_waits_for_messages_until_its_time_is_over() -> None:
    lab = LiteLab()
    polled = lab.carrier.start(lab.consumer.poll(3_000))
    lab.carrier.advance(2_999)
    assert polled == []
    lab.carrier.advance(1)
    assert polled == [([], None)]
    polled = lab.carrier.start(lab.consumer.poll())
    lab.carrier.advance(4_000)
    lab.put(b"late")
    ((messages, _),) = polled
    assert messages is not None
    assert [one.body for one in messages] == [b"late"]


def test_two_polls_share_what_comes() -> None:
    lab = LiteLab()
    polls = [lab.carrier.start(lab.consumer.poll(9_000)) for _ in range(2)]
    lab.put(b"1")
    assert sorted(map(len, polls)) == [0, 1]
    lab.put(b"2")
    assert sorted(map(len, polls)) == [1, 1]


def test_messages_of_a_poll_that_reached_no_caller_come_again_first() -> None:
    lab = LiteLab(pull_batch_size=2, auto_commit=False, started=False)
    for number in range(6):
        lab.broker.put(b"%d" % number)
    lab.run(lab.consumer.start())
    lost = lab.consumer.polling(0)
    lab.run(lost.task())
    lost.put_back()
    lost.put_back()
    lab.run(lab.consumer.commit())
    assert lab.broker.committed() == 0
    assert lab.poll_all() == [b"0", b"1", b"2", b"3", b"4", b"5"]
    lab.run(lab.consumer.commit())
    assert lab.broker.committed() == 6


def test_messages_that_are_put_back_wake_a_poll() -> None:
    lab = LiteLab()
    lab.put(b"1")
    lost = lab.consumer.polling(0)
    lab.run(lost.task())
    waiting = lab.carrier.start(lab.consumer.poll(5_000))
    lost.put_back()
    lab.carrier.settle()
    ((messages, _),) = waiting
    assert messages is not None
    assert [one.body for one in messages] == [b"1"]


def test_messages_from_before_a_seek_are_not_put_back() -> None:
    lab = LiteLab()
    lab.put(b"1")
    lab.put(b"2")
    lost = lab.consumer.polling(0)
    lab.run(lost.task())
    lab.run(lab.consumer.seek(lab.queue(), 1))
    lost.put_back()
    assert lab.poll_all() == [b"2"]
    empty = lab.consumer.polling(0)
    assert lab.run(empty.task()) == []
    empty.put_back()
    assert lab.poll_all() == []


def test_poll_refuses_a_negative_time() -> None:
    lab = LiteLab()
    with pytest.raises(ConfigError, match="timeout_ms=-1: expected a whole number from 0"):
        lab.run(lab.consumer.poll(-1))


def test_received_messages_know_their_queue() -> None:
    lab = LiteLab()
    lab.put(b"1", tags="eu")
    (message,) = lab.run(lab.consumer.poll(0))
    assert (message.topic, message.tags, message.queue_offset) == ("orders", "eu", 0)
    assert (message.broker_name, message.queue_id) == ("a", 0)
    assert message.properties["MAX_OFFSET"] == "1"


def test_messages_of_other_tags_are_left_out() -> None:
    lab = LiteLab(subscribe={"orders": "eu || us"})
    for tag in ("eu", "asia", "us"):
        lab.put(tag.encode(), tags=tag)
    assert lab.poll_all() == [b"eu", b"us"]
    assert {one.subscription for one in lab.broker.pulls} == {"eu || us"}
    assert {one.sub_version for one in lab.broker.pulls} == {0}


def test_sql_expression_is_checked_and_sent() -> None:
    lab = LiteLab(started=False, subscribe={"orders": Selector.by_sql("a > 5")})
    lab.broker.answers[RequestCode.CHECK_CLIENT_CONFIG] = lambda call: answer(
        ResponseCode.SUBSCRIPTION_PARSE_FAILED, remark="no such thing"
    )
    with pytest.raises(MQClientError, match="no such thing"):
        lab.run(lab.consumer.start())
    assert lab.consumer.is_running, "as in Java"
    lab.run(lab.consumer.rebalance())
    pull = lab.broker.pulls[-1]
    assert (pull.subscription, pull.expression_type) == ("a > 5", "SQL92")
    assert pull.sub_version > 0


def test_namespace_is_before_the_names_that_brokers_see() -> None:
    lab = LiteLab(started=False, namespace="ns")
    lab.broker.put(b"1", topic="ns%orders")
    lab.run(lab.consumer.start())
    (message,) = lab.run(lab.consumer.poll(0))
    assert message.topic == "orders"
    assert lab.consumer.assignment() == [lab.queue()]
    lab.run(lab.consumer.commit())
    assert lab.broker.committed(topic="ns%orders", group=f"ns%{GROUP}") == 1
    lab.run(lab.consumer.seek(lab.queue(), 0))
    assert lab.poll() == [b"1"]


# -- changed queues, and what admin tools see --------------------------------------------------


def test_listener_of_a_topic_gets_its_queues_when_they_change() -> None:
    lab = LiteLab()
    seen: list[tuple[str, int]] = []
    lab.run(
        lab.consumer.register_topic_message_queue_change_listener(
            "orders", lambda topic, queues: seen.append((topic, len(queues)))
        )
    )
    lab.broker.topics["orders"] = 3
    lab.carrier.advance(9_999)
    assert seen == []
    lab.carrier.advance(1)
    assert seen == [("orders", 3)]
    del lab.broker.topics["orders"]
    lab.carrier.advance(30_000)
    lab.broker.topics["orders"] = 2
    lab.carrier.advance(30_000)
    assert seen == [("orders", 3), ("orders", 2)]


def test_listener_of_a_topic_may_be_registered_before_the_start() -> None:
    lab = LiteLab(started=False)
    seen: list[str] = []

    def listener(topic: str, queues: object) -> None:
        seen.append(topic)

    lab.run(lab.consumer.register_topic_message_queue_change_listener("orders", listener))
    lab.run(lab.consumer.start())
    lab.carrier.advance(40_000)
    assert seen == []
    with pytest.raises(ConfigError, match="topic='': The specified topic is blank"):
        lab.run(lab.consumer.register_topic_message_queue_change_listener("", listener))


def test_queues_of_a_topic_are_fetched() -> None:
    lab = LiteLab(queues=2)
    assert lab.run(lab.consumer.fetch_message_queues("orders")) == [lab.queue(0), lab.queue(1)]
    with pytest.raises(MQClientError, match="Can not find Message Queue for this topic, missing"):
        lab.run(lab.consumer.fetch_message_queues("missing"))


def test_running_info_has_settings_and_subscriptions() -> None:
    lab = LiteLab()
    info = lab.run(lab.consumer.running_info())
    assert info.properties["consumerGroup"] == GROUP
    assert info.properties["PROP_CONSUME_TYPE"] == "CONSUME_ACTIVELY"
    assert info.properties["autoCommit"] == "true"
    assert [one.topic for one in info.subscription_set] == ["orders"]


def test_broker_that_reports_new_members_starts_a_rebalance() -> None:
    lab = LiteLab(queues=2)
    lab.broker.members = [CLIENT, "z"]
    from fakemq.protocol.headers.client import NotifyConsumerIdsChangedRequestHeader

    header = NotifyConsumerIdsChangedRequestHeader(consumer_group=GROUP)
    command = lab.services.instance.command(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, header)
    lab.carrier.push(A, command)
    assert lab.consumer.assignment() == [lab.queue(0)]


def test_pulled_messages_are_traced_if_asked_for() -> None:
    lab = LiteLab(started=False, trace=True)
    lab.broker.topics["RMQ_SYS_TRACE_TOPIC"] = 1
    lab.broker.put(b"1", KEYS="o-1")
    lab.run(lab.consumer.start())
    lab.run(lab.consumer.shutdown())
    ((header, body),) = lab.broker.sent
    assert header.topic == "RMQ_SYS_TRACE_TOPIC"
    kinds = [record.split("\x01")[0] for record in body.decode().split("\x02") if record]
    assert kinds == ["SubBefore", "SubAfter"]
    assert "o-1" in body.decode()


def test_start_that_fails_leaves_nothing_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = LiteLab(started=False, trace=True)

    def fail() -> None:
        raise OSError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(lab.services, "start", fail)
        with pytest.raises(OSError, match="no room"):
            lab.run(lab.consumer.start())
    assert not lab.services.is_used
    again = LitePullConsumerCore(lab.services, lab.consumer.settings)
    lab.run(again.start())
    assert again.is_running
