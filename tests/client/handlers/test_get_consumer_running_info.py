"""GET_CONSUMER_RUNNING_INFO at a client."""

from __future__ import annotations

from fakemq.protocol.bodies.consumer import ConsumerRunningInfo
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.client import GetConsumerRunningInfoRequestHeader
from tests.support.played_broker import CLIENT, GROUP, PlayedBroker
from tests.support.push_lab import PushLab
from tests.support.scripted_operation import A
from tests.support.time import START_MS


def ask(lab: PushLab, group: str = GROUP, *, jstack: bool = False) -> RemotingCommand:
    header = GetConsumerRunningInfoRequestHeader(
        consumer_group=group, client_id=CLIENT, jstack_enable=jstack
    )
    code = RequestCode.GET_CONSUMER_RUNNING_INFO
    lab.carrier.push(A, RemotingCommand(code, ext_fields=header.encode()))
    return lab.carrier.received[-1].answer


def info(lab: PushLab, *, jstack: bool = False) -> ConsumerRunningInfo:
    answer = ask(lab, jstack=jstack)
    assert answer.code == ResponseCode.SUCCESS
    return ConsumerRunningInfo.decode(answer.body)


def test_settings_are_properties_with_java_names() -> None:
    lab = PushLab(PlayedBroker(), pull_batch_size=16, consume_from="first").start()
    properties = info(lab).properties
    assert properties["consumerGroup"] == GROUP
    assert properties["pullBatchSize"] == "16"
    assert properties["consumeFromWhere"] == "CONSUME_FROM_FIRST_OFFSET"
    assert properties["PROP_CONSUME_TYPE"] == "CONSUME_PASSIVELY"
    assert properties["PROP_CONSUMEORDERLY"] == "false"
    assert properties["PROP_CLIENT_VERSION"] == "V4_9_7"
    assert properties["PROP_NAMESERVER_ADDR"] == "ns:9876;"
    assert properties["PROP_CONSUMER_START_TIMESTAMP"] == str(START_MS)


def test_queues_have_their_offsets_and_cached_messages() -> None:
    lab = PushLab(PlayedBroker()).start()
    lab.put(b"0", b"1")
    lab.carrier.performs_at_once = False
    lab.put(b"2", b"3", b"4")
    found = info(lab).mq_table[lab.broker.queue(0)]
    assert found.commit_offset == 2
    assert (found.cached_msg_min_offset, found.cached_msg_max_offset) == (2, 4)
    assert found.cached_msg_count == 3
    assert not found.droped
    assert found.last_pull_timestamp == START_MS


def test_subscriptions_are_sorted_by_topic() -> None:
    lab = PushLab(PlayedBroker(topics=("orders", "a")), subscribe={"orders": "x", "a": "*"})
    lab.start()
    subscriptions = info(lab).subscription_set
    assert [(one.topic, one.sub_string) for one in subscriptions] == [
        ("%RETRY%billing", "*"),
        ("a", "*"),
        ("orders", "x"),
    ]


def test_counters_are_rates_of_the_last_minute() -> None:
    lab = PushLab(PlayedBroker()).start()
    lab.put(*(b"%d" % one for one in range(30)))
    lab.advance(30_000)
    status = info(lab).status_table["orders"]
    assert status.consume_ok_tps == 1.0
    assert status.pull_tps == 1.0
    assert (status.consume_failed_tps, status.consume_failed_msgs) == (0.0, 0)


def test_stacks_of_threads_are_returned_on_demand() -> None:
    lab = PushLab(PlayedBroker()).start()
    assert info(lab).jstack is None
    stacks = info(lab, jstack=True).jstack
    assert stacks is not None
    assert "STATE: RUNNABLE" in stacks
    assert "test_stacks_of_threads_are_returned_on_demand" in stacks


def test_body_is_written_as_java_writes_it() -> None:
    lab = PushLab(PlayedBroker()).start()
    text = ask(lab).body.decode()
    assert text.startswith('{"mqTable":{{"brokerName":"a","queueId":0,"topic":"%RETRY%billing"}:{')
    assert (
        '"cachedMsgCount":0,"cachedMsgMaxOffset":0,"cachedMsgMinOffset":0,"cachedMsgSizeInMiB":0,'
        '"commitOffset":0,"droped":false,"lastConsumeTimestamp":' in text
    )
    assert (
        '"statusTable":{"%RETRY%billing":{"consumeFailedMsgs":0,"consumeFailedTPS":0.0,'
        '"consumeOKTPS":0.0,"consumeRT":0.0,"pullRT":0.0,"pullTPS":0.0}' in text
    )
    assert "jstack" not in text


def test_group_without_a_consumer_is_refused() -> None:
    lab = PushLab(PlayedBroker()).start()
    answer = ask(lab, "others")
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark == "The Consumer Group <others> not exist in this consumer"
