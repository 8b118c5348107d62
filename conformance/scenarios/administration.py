"""Topics and groups made by admin tools, and requests that are not whole."""

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import ENDS_ON_FOUR, scenario
from conformance.wire.requests import (
    HELD,
    properties,
    pull_fields,
    send_fields,
    send_v2_fields,
    topic_fields,
)
from fakemq.protocol.codes import RequestCode


@scenario("create topic: made, changed, refused")
def create_topic(run: Run) -> None:
    def create(topic: str, **more: object) -> None:
        run.ask("broker-a", RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields(topic, **more))

    create("SMade")
    run.until(lambda: run.client.update_route("SMade") is not None, "its route")
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "SMade"})
    create("SMade", readQueueNums=8, writeQueueNums=8, perm=4)

    def is_changed() -> bool:
        route = run.client.update_route("SMade")
        return route is not None and route.data.queue_datas[0].perm == 4

    run.until(is_changed, "the change")
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "SMade"})
    run.note("a topic that may not be written is sent to nevertheless")
    run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, send_v2_fields("SMade"), "x")
    run.note("refused")
    create("TBW102")
    create("RMQ_SYS_TRACE_TOPIC")
    create("no blanks")
    create("")
    create("SFiltered", topicFilterType="NO_TAG")


@scenario("create topic: numbers and permissions that make no sense")
def create_topic_odd(run: Run) -> None:
    def create(topic: str, **more: object) -> None:
        run.ask("broker-a", RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields(topic, **more))
        fields = send_v2_fields(topic, c="SNoSuchDefault")
        if run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, fields, "x").code == 0:
            run.until_stored("broker-a", topic, 1)
        run.ask("broker-a", RequestCode.PULL_MESSAGE, pull_fields(topic))

    run.note("no queue to read, none to write, less than none")
    create("SOddRead", readQueueNums=0)
    create("SOddWrite", writeQueueNums=0)
    create("SOddLess", readQueueNums=-1, writeQueueNums=-1)
    run.note("no permission at all, one that is none, all there are")
    create("SOddPerm", perm=0)
    create("SOddPriority", perm=8)
    create("SOddAll", perm=15)
    run.note("a filter type in small letters, one that is hardly used")
    create("SOddFilter", topicFilterType="single_tag")
    create("SOddMulti", topicFilterType="MULTI_TAG")
    run.note("names that the system has for itself")
    for name in ("SCHEDULE_TOPIC_XXXX", "OFFSET_MOVED_EVENT", "%RETRY%GOdd", "%DLQ%GOdd"):
        run.ask("broker-a", RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields(name))


@scenario("a broker's config: changed while it runs, and asked for")
def broker_config(run: Run) -> None:
    keys = ("regionId", "transactionCheckMax", "brokerPermission", "brokerName", "noSuchKey")

    def look() -> None:
        answer = run.peer("looking", "broker-a").quietly(RequestCode.GET_BROKER_CONFIG)
        pairs = dict(line.split("=", 1) for line in answer.body.decode().splitlines())
        run.note(", ".join(f"{key}={pairs.get(key)}" for key in keys))

    def update(text: str) -> None:
        run.ask("broker-a", RequestCode.UPDATE_BROKER_CONFIG, {}, text)
        look()

    look()
    update("regionId=Elsewhere\ntransactionCheckMax=7\nnoSuchKey=1")
    run.note("at once")
    topic = run.topic("SConfig")
    run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, send_v2_fields(topic), "x")
    update("regionId = DefaultRegion\n# a comment\ntransactionCheckMax:15")
    run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, send_v2_fields(topic), "x")
    run.note("no numbers")
    update("transactionCheckMax=many")
    update("transactionCheckMax=")
    run.note("nothing")
    update("")
    run.ask("broker-a", RequestCode.UPDATE_BROKER_CONFIG, {})


@scenario("access control that is off: it is not changed, and not shown", releases=ENDS_ON_FOUR)
def acl_off(run: Run) -> None:
    code = RequestCode.UPDATE_AND_CREATE_ACL_CONFIG
    run.ask("broker-a", code, {"accessKey": "somebody", "secretKey": "12345678", "admin": False})
    run.ask("broker-a", RequestCode.DELETE_ACL_CONFIG, {"accessKey": "somebody"})
    fields = {"globalWhiteAddrs": "10.0.0.1", "aclFileFullPath": ""}
    run.ask("broker-a", RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG, fields)
    run.send("broker-a", RequestCode.GET_BROKER_CLUSTER_ACL_INFO).no_answer()
    run.send("broker-a", RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG).no_answer()


@scenario("codes that have a name and no answer")
def unhandled_codes(run: Run) -> None:
    for code in (13, 22, 23, 27, 209, 210, 211, 213, 214, 301, 302):
        run.ask("broker-a", code, {})
    run.note("what brokers ask of clients, and of name servers")
    for code in (39, 40, 220, 221, 326, 103, 105):
        run.ask("broker-a", code, {})
    run.note("at the fast port")
    for code in (11, 9999, -1):
        run.ask("broker-a vip", code, {})


@scenario("create group: made, and no more consumed when it is switched off")
def create_group(run: Run) -> None:
    topic = run.topic("SGroupTopic")
    group = {
        "brokerId": 0,
        "consumeBroadcastEnable": True,
        "consumeEnable": False,
        "consumeFromMinEnable": True,
        "groupName": "GSwitchedOff",
        "notifyConsumerIdsChangedEnable": True,
        "retryMaxTimes": 16,
        "retryQueueNums": 1,
        "whichBrokerWhenConsumeSlowly": 1,
    }
    run.ask("broker-a", RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, group)
    fields = pull_fields(topic, consumerGroup="GSwitchedOff")
    run.ask("broker-a", RequestCode.PULL_MESSAGE, fields)
    on = group | {"consumeEnable": True}
    run.ask("broker-a", RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, on)
    run.ask("broker-a", RequestCode.PULL_MESSAGE, fields)
    run.note("nothing said at all")
    run.ask("broker-a", RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {})


@scenario("requests that are not whole: what is missing is noticed where it is read")
def missing_fields(run: Run) -> None:
    run.ask("broker-a", RequestCode.SEND_MESSAGE, {})
    run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, {"b": "SMissing"})
    run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, send_v2_fields("SMissing", e="many"), "x")
    run.ask("broker-a", RequestCode.PULL_MESSAGE, {})
    run.ask("broker-a", RequestCode.PULL_MESSAGE, {"consumerGroup": "G", "queueOffset": "x"})
    run.ask("broker-a", RequestCode.QUERY_CONSUMER_OFFSET, {})
    run.ask("broker-a", RequestCode.UPDATE_CONSUMER_OFFSET, {})
    run.ask("broker-a", RequestCode.GET_MAX_OFFSET, {"topic": "SMissing"})
    run.ask("broker-a", RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {"topic": "SMissing"})
    run.ask("broker-a", RequestCode.GET_CONSUMER_LIST_BY_GROUP, {})
    run.ask("broker-a", RequestCode.UNREGISTER_CLIENT, {})
    run.ask("broker-a", RequestCode.VIEW_MESSAGE_BY_ID, {})
    run.ask("broker-a", RequestCode.UPDATE_AND_CREATE_TOPIC, {"topic": "SMissing"})
    run.note("a body that is none")
    run.ask("broker-a", RequestCode.HEART_BEAT, {}, "no JSON")
    run.ask("broker-a", RequestCode.HEART_BEAT, {})
    run.ask("broker-a", RequestCode.LOCK_BATCH_MQ, {})
    run.ask("broker-a", RequestCode.UNLOCK_BATCH_MQ, {})
    run.ask("broker-a", RequestCode.CHECK_CLIENT_CONFIG, {})
    run.ask("broker-a", RequestCode.LOCK_BATCH_MQ, {}, {"mqSet": []})
    run.ask("broker-a", RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, "[1]")
    run.note("a batch that is none")
    fields = send_v2_fields(run.topic("SMissingBatch"), m=True)
    run.ask("broker-a", RequestCode.SEND_BATCH_MESSAGE, fields, "no batch at all, but text")
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {})
    run.ask("namesrv", RequestCode.REGISTER_BROKER, {})


@scenario("binary headers are answered in binary, but not by all")
def binary_headers(run: Run) -> None:
    topic = run.topic("SBinary")
    text = properties(TAGS="t", UNIQ_KEY="AC110001000018B4AAC27E5E1C2B0001")
    fields = send_v2_fields(topic, i=text)
    sent = run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, fields, "binary", binary=True)
    run.until_stored("broker-a", topic, 1)
    run.ask("broker-a", RequestCode.PULL_MESSAGE, pull_fields(topic), binary=True)
    run.ask("broker-a", RequestCode.PULL_MESSAGE, pull_fields("SNowhere"), binary=True)
    run.ask("broker-a", RequestCode.SEND_MESSAGE, send_fields(topic, queueId=9), "x", binary=True)
    run.ask("broker-a", RequestCode.PULL_MESSAGE, {}, binary=True)
    run.ask("broker-a", 9999, {}, binary=True)
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, binary=True)
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "SNowhere"}, binary=True)
    run.note("a message that is viewed, and a pull that was held, come in JSON nevertheless")
    view = RequestCode.VIEW_MESSAGE_BY_ID
    place = {"offset": int(sent.fields["msgId"][16:], 16)}
    run.ask("broker-a", view, place, hidden=("offset",), binary=True)
    run.ask("broker-a", view, {"offset": 10**15}, binary=True)
    held = run.hold(pull_fields(topic, 1, sysFlag=HELD), binary=True)
    run.store(topic, "t", stored=1)
    held.answer()
