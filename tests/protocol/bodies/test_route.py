"""Routes in both dialects, as RemotingSerializable of 4.9.7 writes them."""

from __future__ import annotations

from fakemq.protocol.bodies.route import (
    BrokerData,
    ClusterInfo,
    QueueData,
    TopicList,
    TopicRouteData,
)

ROUTE = TopicRouteData(
    order_topic_conf="é/<\u2028\u007f\n\"\\'\u0001😀",
    queue_datas=[QueueData("b")],
    broker_datas=[BrokerData("c", "b", {0: "z", 17: "w", 2: "y", 10: "x"})],
    filter_server_table={"zz": ["p"], "bb": ["q"]},
)
QUEUE = '{"brokerName":"b","perm":0,"readQueueNums":0,"topicSysFlag":0,"writeQueueNums":0}'


def test_javas_own_dialect_is_written() -> None:
    assert ROUTE.encode().decode() == (
        '{"brokerDatas":[{"brokerAddrs":{0:"z",17:"w",2:"y",10:"x"},"brokerName":"b",'
        '"cluster":"c"}],"filterServerTable":{"zz":["p"],"bb":["q"]},'
        '"orderTopicConf":"é/<\\u2028\\u007F\\n\\"\\\\\'\\u0001😀","queueDatas":[' + QUEUE + "]}"
    )


def test_standard_dialect_is_written() -> None:
    assert ROUTE.encode(standard_json=True).decode() == (
        '{"brokerDatas":[{"brokerAddrs":{"0":"z","2":"y","10":"x","17":"w"},"brokerName":"b",'
        '"cluster":"c"}],"filterServerTable":{"bb":["q"],"zz":["p"]},"orderTopicConf":'
        '"\\u00E9\\/<\\u2028\\u007F\\n\\"\\\\\'\\u0001\\uD83D\\uDE00","queueDatas":[' + QUEUE + "]}"
    )


def test_both_dialects_are_read() -> None:
    assert TopicRouteData.decode(ROUTE.encode()) == ROUTE
    assert TopicRouteData.decode(ROUTE.encode(standard_json=True)) == ROUTE


def test_fields_of_5_x_are_kept_or_ignored() -> None:
    text = (
        b'{"brokerDatas":[{"brokerAddrs":{0:"x"},"brokerName":"b","cluster":"c",'
        b'"enableActingMaster":false}],"filterServerTable":{},"queueDatas":[]}'
    )
    route = TopicRouteData.decode(text)
    assert route.broker_datas == [BrokerData("c", "b", {0: "x"}, enable_acting_master=False)]
    assert route.encode() == text
    later = text.replace(b'"queueDatas"', b'"topicQueueMappingByBroker":{},"queueDatas"')
    assert TopicRouteData.decode(later) == route


def test_cluster_info_has_unquoted_ids() -> None:
    info = ClusterInfo({"b": BrokerData("c", "b", {0: "x"})}, {"c": ["b"]})
    assert info.encode() == (
        b'{"brokerAddrTable":{"b":{"brokerAddrs":{0:"x"},"brokerName":"b","cluster":"c"}},'
        b'"clusterAddrTable":{"c":["b"]}}'
    )
    mixed = b'{"brokerAddrTable":{"b":{"brokerAddrs":{0:"x","1":"y"}}}}'
    assert ClusterInfo.decode(mixed).broker_addr_table["b"].broker_addrs == {0: "x", 1: "y"}


def test_topic_list_is_read_and_written() -> None:
    assert TopicList(["t"]).encode() == b'{"topicList":["t"]}'
    assert TopicList([], "a:1").encode() == b'{"brokerAddr":"a:1","topicList":[]}'
