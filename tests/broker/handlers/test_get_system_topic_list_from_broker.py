"""GET_SYSTEM_TOPIC_LIST_FROM_BROKER: the topics that no user made."""

from __future__ import annotations

from fakemq.config.model import BrokerConfig
from fakemq.protocol.bodies.route import TopicList
from fakemq.protocol.codes import RequestCode
from tests.support.broker_lab import BrokerLab


def test_system_topics_of_rocketmq_and_of_the_broker_are_listed() -> None:
    lab = BrokerLab()
    config = BrokerConfig(
        broker_name="b7",
        broker_cluster_name="c7",
        trace_topic_enable=True,
        msg_trace_topic_name="own_trace",
    )
    broker = lab.broker(config)
    broker.create_topic("orders", 1)
    answer = lab.peer(broker.addr).ask(RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER)
    assert sorted(TopicList.decode(answer.body).topic_list) == [
        "BenchmarkTest",
        "OFFSET_MOVED_EVENT",
        "RMQ_SYS_TRACE_TOPIC",
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC",
        "SCHEDULE_TOPIC_XXXX",
        "SELF_TEST_TOPIC",
        "TBW102",
        "TRANS_CHECK_MAX_TIME_TOPIC",
        "b7",
        "c7",
        "c7_REPLY_TOPIC",
        "own_trace",
    ]
