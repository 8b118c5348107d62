"""Administration by the client: offsets, messages by id and key, topics, groups."""

from __future__ import annotations

import pytest

from fakemq.client.admin import Admin
from fakemq.client.errors import MQBrokerError, MQClientError, RemotingConnectError
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.bodies.route import ClusterInfo
from fakemq.protocol.bodies.stats import ConsumeStats, OffsetWrapper
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.message import encode_record
from tests.support.scripted_operation import A, B, ScriptedOperation, answer, client, queue, route

HOST = ("127.0.0.1", 10911)


def cluster() -> ClusterInfo:
    brokers = {str(one.broker_name): one for one in route("a", "b").broker_datas}
    return ClusterInfo(broker_addr_table=brokers, cluster_addr_table={"c": ["b"], "d": ["a"]})


def test_offsets_come_from_the_queues_master() -> None:
    admin = Admin(client("a"))
    assert ScriptedOperation(admin.max_offset(queue()), answer(offset=5)).result == 5
    assert ScriptedOperation(admin.min_offset(queue()), answer(offset=1)).result == 1
    play = ScriptedOperation(admin.search_offset(queue(), 77), answer(offset=2))
    assert (play.result, play.calls[0].command.ext_fields["timestamp"]) == (2, "77")
    assert (
        ScriptedOperation(admin.earliest_store_time_ms(queue()), answer(timestamp=-1)).result == -1
    )
    assert play.calls[0].command.ext_fields["bname"] == "a"


def test_message_is_viewed_at_the_broker_of_its_id() -> None:
    body = encode_record("orders", b"body", "", queue_id=0, born_host=HOST, store_host=HOST)
    play = ScriptedOperation(
        Admin(client()).view_message("7F00000100002A9F0000000000000010"), answer(body=body)
    )
    assert (play.addrs, play.calls[0].command.ext_fields) == (
        ["127.0.0.1:10911"],
        {"offset": "16"},
    )
    assert play.result.body == b"body"
    six = f"{'0' * 31}100002A9F0000000000000010"
    play = ScriptedOperation(Admin(client()).view_message(six), answer(body=body))
    assert play.addrs == ["[::1]:10911"]
    with pytest.raises(MQClientError, match="no message id"):
        ScriptedOperation(Admin(client()).view_message("x"))
    with pytest.raises(MQClientError, match="without a message"):
        ScriptedOperation(Admin(client()).view_message(six), answer(body=b"")).result  # noqa: B018


def record(keys: str, stored_ms: int, topic: str = "orders", unique: str = "U") -> bytes:
    return encode_record(
        topic,
        keys.encode(),
        f"KEYS\x01{keys}\x02UNIQ_KEY\x01{unique}",
        queue_id=0,
        born_host=HOST,
        store_host=HOST,
        store_timestamp_ms=stored_ms,
    )


def test_messages_are_queried_at_every_broker() -> None:
    play = ScriptedOperation(
        Admin(client("a", "b")).query_messages("orders", "k", max_num=9, begin_ms=1, end_ms=7),
        answer(body=record("a k", 5) + record("other", 4) + record("k", 3, topic="x")),
        answer(body=record("k", 2)),
    )
    assert play.addrs == [A, B]
    assert play.codes == [RequestCode.QUERY_MESSAGE] * 2
    assert play.calls[0].command.ext_fields == {
        "topic": "orders",
        "key": "k",
        "maxNum": "9",
        "beginTimestamp": "1",
        "endTimestamp": "7",
    }
    assert [one.body for one in play.result] == [b"k", b"a k"]


def test_failing_broker_does_not_hide_the_results_of_others() -> None:
    admin = Admin(client("a", "b"))
    play = ScriptedOperation(
        admin.query_messages("orders", "k"), answer(22), answer(body=record("k", 2))
    )
    assert len(play.result) == 1
    play = ScriptedOperation(
        admin.query_messages("orders", "k"), RemotingConnectError(A), answer(body=record("k", 2))
    )
    assert len(play.result) == 1
    assert (
        ScriptedOperation(admin.query_messages("orders", "k"), answer(22), answer(22)).result == []
    )
    with pytest.raises(MQBrokerError, match="no"):
        ScriptedOperation(
            admin.query_messages("orders", "k"), RemotingConnectError(A), answer(1, remark="no")
        )
    with pytest.raises(MQClientError, match=r"The topic\[nowhere\] not matched route info"):
        ScriptedOperation(admin.query_messages("nowhere", "k"), answer(17))


def test_first_stored_message_wins_when_two_have_one_unique_key() -> None:
    play = ScriptedOperation(
        Admin(client("a", "b")).query_message_by_unique_key("orders", "U"),
        answer(body=record("late", 5) + record("same hash", 1, unique="V")),
        answer(body=record("early", 2)),
    )
    assert play.calls[0].command.ext_fields["_UNIQUE_KEY_QUERY"] == "true"
    assert play.result is not None
    assert play.result.body == b"early"
    play = ScriptedOperation(
        Admin(client("a")).query_message_by_unique_key("orders", "U"), answer(22)
    )
    assert play.result is None


def test_consume_stats_are_collected_from_all_masters() -> None:
    play = ScriptedOperation(
        Admin(client()).consume_stats("g", "orders"),
        answer(body=cluster()),
        answer(body=ConsumeStats({queue("a"): OffsetWrapper(5, 3)}, 0.5)),
        answer(body=ConsumeStats({queue("b"): OffsetWrapper(1, 1)}, 0.25)),
    )
    assert play.addrs[1:] == [A, B]
    assert play.calls[1].command.ext_fields == {"consumerGroup": "g", "topic": "orders"}
    assert (play.result.consume_tps, play.result.compute_total_diff()) == (0.75, 2)


def test_topic_is_created_at_the_brokers_of_the_create_topic_key() -> None:
    play = ScriptedOperation(
        Admin(client()).create_topic("new", 4), answer(body=route("b", "a")), answer(), answer()
    )
    assert (play.addrs[1:], play.result) == ([A, B], [A, B])
    assert play.calls[1].command.ext_fields == {
        "topic": "new",
        "defaultTopic": "TBW102",
        "readQueueNums": "4",
        "writeQueueNums": "4",
        "perm": "6",
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": "0",
        "order": "false",
    }


def test_topic_creation_succeeds_when_one_broker_accepts() -> None:
    admin = Admin(client())
    play = ScriptedOperation(
        admin.create_topic("new"),
        answer(body=route("a", "b")),
        RemotingConnectError(A),
        answer(),
    )
    assert play.result == [B]
    with pytest.raises(MQBrokerError):
        ScriptedOperation(
            admin.create_topic("new"), answer(body=route("a")), answer(1, remark="no")
        )
    with pytest.raises(MQClientError, match="TBW102"):
        ScriptedOperation(admin.create_topic("new"), answer(17))


def test_topic_is_created_in_the_named_cluster() -> None:
    play = ScriptedOperation(
        Admin(client()).create_topic("new", cluster="c"), answer(body=cluster()), answer()
    )
    assert play.result == [B]


def test_group_is_created_at_every_master() -> None:
    config = SubscriptionGroupConfig(group_name="g", retry_max_times=3)
    admin = Admin(client())
    play = ScriptedOperation(admin.create_group(config), answer(body=cluster()), answer(), answer())
    assert play.result == [A, B]
    assert SubscriptionGroupConfig.decode(play.calls[1].command.body) == config
    with pytest.raises(MQClientError, match="no master in cluster e"):
        ScriptedOperation(admin.create_group(config, cluster="e"), answer(body=cluster()))
