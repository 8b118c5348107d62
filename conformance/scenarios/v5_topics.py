"""Topics and groups of 5.x: attributes, retry policies, dead letters, resets at the broker."""

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import scenario
from conformance.scenarios.consuming import send
from conformance.scenarios.popping import FIVE, ack, committed, hide, pop, popped
from conformance.targets.java_jars import NEWEST
from conformance.wire.requests import (
    GROUP,
    group_config,
    heartbeat,
    offset_fields,
    send_back_fields,
    topic_fields,
)
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.topics import OFFSET_MOVED_EVENT_TOPIC, dlq_topic
from fakemq.protocol.v5.codes import RequestCode5


@scenario("topic attributes: made, changed, taken away, refused", releases=FIVE)
def topic_attributes(run: Run) -> None:
    def create(topic: str, attributes: str, **more: object) -> None:
        fields = topic_fields(topic, attributes=attributes, order=False) | more
        run.ask("broker-a", RequestCode.UPDATE_AND_CREATE_TOPIC, fields)

    def config(topic: str) -> None:
        run.ask("broker-a", RequestCode5.GET_TOPIC_CONFIG, {"topic": topic})

    for kind in ("NORMAL", "FIFO", "DELAY", "TRANSACTION", "MIXED", "PRIORITY", "UNSPECIFIED"):
        create(f"SKind{kind}", f"+message.type={kind}")
    config("SKindFIFO")
    run.note("changed, and taken away")
    create("SKindFIFO", "+message.type=NORMAL")
    config("SKindFIFO")
    create("SKindFIFO", "-message.type")
    config("SKindFIFO")
    create("SKindFIFO", "-message.type")
    run.note("those that stay as they were made")
    create("SFixed", "+queue.type=SimpleCQ,+cleanup.policy=DELETE")
    config("SFixed")
    create("SFixed", "+queue.type=SimpleCQ")
    create("SFixed", "-cleanup.policy")
    run.note("times")
    create("SReserved", "+reserve.time=1000")
    create("SReserved", "+reserve.time=-2")
    create("SReserved", "+reserve.time=soon")
    create("SReserved", "-reserve.time")
    config("SReserved")
    run.note("refused")
    create("SOddKind", "+message.type=ODD")
    create("SOddKind", "+message.kind=FIFO")
    create("SOddKind", "message.type=FIFO")
    create("SOddKind", "-message.type")
    create("SOddKind", "+message.type")
    create("SOddKind", "+message.type=FIFO,+message.type=NORMAL")
    create("SOddKind", ",")
    config("SOddKind")
    run.note("no attributes")
    create("SNoKind", "")
    config("SNoKind")
    create("SKindDELAY", "")
    config("SKindDELAY")


@scenario("topic attributes: the broker does not compare them with what is sent", releases=FIVE)
def topic_type_unchecked(run: Run) -> None:
    fields = topic_fields("SUnchecked", attributes="+message.type=FIFO", writeQueueNums=4)
    run.ask("broker-a", RequestCode.UPDATE_AND_CREATE_TOPIC, fields)
    send(run, "SUnchecked", "plain")
    run.until(lambda: run.client.update_route("SUnchecked") is not None, "its route")
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "SUnchecked"})


@scenario("topic config: what a broker says of one topic", releases=FIVE)
def topic_config(run: Run) -> None:
    topic = run.topic("SConfig", 2)
    run.ask("broker-a", RequestCode5.GET_TOPIC_CONFIG, {"topic": topic})
    run.ask("broker-a", RequestCode5.GET_TOPIC_CONFIG, {"topic": topic, "lo": True})
    run.ask("broker-a", RequestCode5.GET_TOPIC_CONFIG, {"topic": "SNowhere"})
    run.ask("broker-a", RequestCode5.GET_TOPIC_CONFIG, {"topic": "TBW102"})
    run.ask("broker-a", RequestCode5.GET_TOPIC_CONFIG, {})


@scenario("topics: several made by one request", releases=FIVE)
def topic_list(run: Run) -> None:
    def config(name: str, **more: object) -> dict[str, object]:
        return {"topicName": name, "readQueueNums": 2, "writeQueueNums": 2, "perm": 6} | more

    code = RequestCode5.UPDATE_AND_CREATE_TOPIC_LIST
    body: dict[str, object] = {"topicConfigList": [config("SListOne"), config("SListTwo", perm=4)]}
    run.ask("broker-a", code, {}, body)
    run.ask("broker-a", RequestCode5.GET_TOPIC_CONFIG, {"topic": "SListTwo"})
    run.note("one of them is refused: none is made")
    body = {"topicConfigList": [config("SListThree"), config("TBW102")]}
    run.ask("broker-a", code, {}, body)
    run.ask("broker-a", RequestCode5.GET_TOPIC_CONFIG, {"topic": "SListThree"})
    run.ask("broker-a", code, {}, {"topicConfigList": []})
    run.ask("broker-a", code, {})


@scenario("groups: their config with retry policies and attributes", releases=FIVE)
def group_config_v5(run: Run) -> None:
    def update(group: str, **more: object) -> None:
        body = group_config(group, **more)
        run.ask("broker-a", RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, body)

    def config(group: str) -> None:
        run.ask("broker-a", RequestCode5.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": group})

    update("GPlain")
    config("GPlain")
    run.note("a policy of its own, and one that grows")
    policy: dict[str, object] = {
        "type": "CUSTOMIZED",
        "customizedRetryPolicy": {"next": [1_000, 5_000]},
    }
    update("GCustom", groupRetryPolicy=policy, consumeMessageOrderly=True)
    config("GCustom")
    growing: dict[str, object] = {"initial": 1_000, "max": 60_000, "multiplier": 3}
    policy = {"type": "EXPONENTIAL", "exponentialRetryPolicy": growing}
    update("GGrowing", groupRetryPolicy=policy)
    config("GGrowing")
    run.note("attributes")
    update("GFactor", attributes={"+priority.factor": "50"})
    config("GFactor")
    update("GFactor", attributes={"+priority.factor": "101"})
    update("GFactor", attributes={"+odd": "1"})
    update("GFactor", attributes={"-priority.factor": ""})
    config("GFactor")
    run.note("refused, or made by asking")
    config("GUnasked")
    config("")
    update("")
    update("no blanks")
    run.note("several at once")
    configs: dict[str, object] = {
        "groupConfigList": [group_config("GListOne"), group_config("GListTwo", retryMaxTimes=3)]
    }
    run.ask("broker-a", RequestCode5.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, {}, configs)
    config("GListTwo")


@scenario(
    "groups: none is made by asking, where none is made",
    config={"autoCreateSubscriptionGroup": "false"},
    releases=FIVE,
)
def group_config_absent(run: Run) -> None:
    run.ask("broker-a", RequestCode5.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": "GAbsent"})


@scenario("dead letters: a topic that is read as any other", releases=FIVE)
def dead_letters_popped(run: Run) -> None:
    topic = run.topic("SDead")
    group = "GDead"
    place = send(run, topic, "dead")
    run.until_stored("broker-a", topic, 1)
    fields = send_back_fields(group, place, -1, originTopic=topic, maxReconsumeTimes=0)
    run.ask("broker-a", RequestCode.CONSUMER_SEND_MSG_BACK, fields, peer="consumer")
    dead = dlq_topic(group)
    run.until_stored("broker-a", dead, 1)
    run.ask("broker-a", RequestCode5.GET_TOPIC_CONFIG, {"topic": dead})
    (handle,) = popped(run, dead, consumerGroup="GUndertaker")
    ack(run, dead, handle, consumerGroup="GUndertaker")
    run.pull(dead)


@scenario("dead letters: a send back has to name the topic", releases=FIVE)
def dead_letter_without_origin(run: Run) -> None:
    topic = run.topic("SDeadOrigin")
    place = send(run, topic, "dead")
    run.until_stored("broker-a", topic, 1)
    for more in ({}, {"originTopic": topic}):
        fields = send_back_fields("GDeadOrigin", place, -1, **more)
        run.ask("broker-a", RequestCode.CONSUMER_SEND_MSG_BACK, fields, peer="consumer")
    run.until_stored("broker-a", dlq_topic("GDeadOrigin"), 1)


@scenario("reset at the broker: a group that pops", releases=FIVE)
def reset_at_broker(run: Run) -> None:
    topic = run.topic("SReset", 2)
    run.store(topic, "a", "b", "c")
    run.store(topic, "d", queue_id=1)
    popped(run, topic, 0, maxMsgNums=3)
    popped(run, topic, 1)
    code = RequestCode.INVOKE_BROKER_TO_RESET_OFFSET

    def reset(**more: object) -> None:
        fields = {"topic": topic, "group": GROUP, "timestamp": -1, "isForce": True} | more
        run.ask("broker-a", code, fields)

    run.note("one queue, to an offset")
    reset(queueId=0, offset=1)
    committed(run, topic)
    pop(run, topic, 0)
    committed(run, topic)
    run.note("one queue, to a time; all queues, to their ends and to a time")
    reset(queueId=0, timestamp=1_100_000_000_000)
    committed(run, topic)
    reset()
    pop(run, topic)
    reset(timestamp=1_100_000_000_000)
    pop(run, topic, 0)
    pop(run, topic, 1)
    run.note("pulled")
    reset(queueId=0, offset=2)
    run.pull(topic, 3)
    run.pull(topic, 3)
    run.note("refused")
    reset(queueId=0, offset=9)
    reset(queueId=0, offset=-2)
    reset(queueId=5, offset=0)
    reset(topic="SNowhere")
    reset(group="GResetNowhere")
    run.ask("broker-a", code, {"topic": topic})


@scenario("reset at the broker: a group that has members", releases=FIVE)
def reset_with_members(run: Run) -> None:
    topic = run.topic("SResetMembers")
    group = "GResetMembers"
    run.store(topic, "a", "b")
    body = heartbeat("member@1", group, topic)
    run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer="consumer")
    fields = offset_fields(topic, group, commitOffset=2)
    run.ask("broker-a", RequestCode.UPDATE_CONSUMER_OFFSET, fields, peer="consumer")
    fields = {"topic": topic, "group": group, "timestamp": -1, "isForce": True}
    more = {"queueId": 0, "offset": 0}
    run.ask("broker-a", RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, fields | more)
    run.nothing_comes("consumer")
    run.note("the next pull begins there; a commit on its way is not taken")
    run.pull(topic, 2, consumerGroup=group, sysFlag=5, commitOffset=2)
    committed(run, topic, group)
    run.pull(topic, 0, consumerGroup=group)
    fields = offset_fields(topic, group, commitOffset=1)
    run.ask("broker-a", RequestCode.UPDATE_CONSUMER_OFFSET, fields, peer="consumer")
    committed(run, topic, group)


@scenario("name server: topics and heartbeats of brokers, by requests of their own", releases=FIVE)
def register_topic(run: Run) -> None:
    def queues(broker: str) -> dict[str, object]:
        return {"brokerName": broker, "readQueueNums": 2, "writeQueueNums": 2, "perm": 6}

    code = RequestCode5.REGISTER_TOPIC_IN_NAMESRV
    body: dict[str, object] = {"queueDatas": [queues("broker-a")], "brokerDatas": []}
    run.ask("namesrv", code, {"topic": "SRegistered"}, body)
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "SRegistered"})
    run.note("for a broker that is not there; again; with nothing")
    body = {"queueDatas": [queues("broker-x")], "brokerDatas": []}
    run.ask("namesrv", code, {"topic": "SRegisteredNowhere"}, body)
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "SRegisteredNowhere"})
    run.ask("namesrv", code, {"topic": "SRegistered"}, body)
    run.ask("namesrv", code, {"topic": "SRegisteredEmpty"})
    run.note("heartbeats: of a broker that is there, and of one that is not")
    code = RequestCode5.BROKER_HEARTBEAT
    fields = {"clusterName": "DefaultCluster", "brokerAddr": run.addrs["broker-a"]}
    run.ask("namesrv", code, fields | {"brokerName": "broker-a", "brokerId": 0})
    fields["brokerAddr"] = "127.0.0.1:1"
    run.ask("namesrv", code, fields | {"brokerName": "broker-x"})
    run.ask("namesrv", code, {})
    run.note("codes that a name server does not know")
    run.ask("namesrv", 9_998)
    run.ask("namesrv", RequestCode.PULL_MESSAGE)


@scenario("name server: the brokers of one name", releases=FIVE)
def broker_member_group(run: Run) -> None:
    code = RequestCode5.GET_BROKER_MEMBER_GROUP
    fields = {"clusterName": "DefaultCluster", "brokerName": "broker-a"}
    run.ask("namesrv", code, fields)
    run.ask("namesrv", code, fields | {"brokerName": "broker-x"})
    run.ask("broker-a", code, fields)


@scenario("priority: what is popped first", releases=(NEWEST,))
def pop_priority(run: Run) -> None:
    fields = topic_fields(
        "SPriority",
        attributes="+message.type=PRIORITY",
        readQueueNums=3,
        writeQueueNums=3,
        order=False,
    )
    run.ask("broker-a", RequestCode.UPDATE_AND_CREATE_TOPIC, fields)
    for queue_id in range(3):
        send(run, "SPriority", f"priority {queue_id}", e=queue_id)
    send(run, "SPriority", "by property", i="_SYS_MSG_PRIORITY_\x012\x02")
    for queue_id in range(3):
        run.until_stored("broker-a", "SPriority", 2 if queue_id == 2 else 1, queue_id)
    pop(run, "SPriority", maxMsgNums=1)
    pop(run, "SPriority", maxMsgNums=1)
    pop(run, "SPriority", maxMsgNums=1)


@scenario("pop: a handle after a restart of its broker", real_s=14, releases=FIVE)
def pop_over_restart(run: Run) -> None:
    topic = run.topic("SPopRestart")
    run.store(topic, "a", "b")
    first, second = popped(run, topic)
    run.stop("broker-a")
    run.start("broker-a")
    committed(run, topic)
    pop(run, topic)
    ack(run, topic, first)
    hide(run, topic, second, 30_000)


@scenario("pull: an offset that has moved leaves no event", releases=FIVE)
def offset_moved_untold(run: Run) -> None:
    topic = run.topic("SUntold")
    run.store(topic, "a", "b")
    run.shared(OFFSET_MOVED_EVENT_TOPIC)
    run.pull(topic, 100, consumerGroup="GUntold")
    run.pull(topic, -1, consumerGroup="GUntold")
    run.pull(run.topic("SUntoldEmpty"), 5, consumerGroup="GUntold")
    run.pass_time(1_000)
    run.pull(OFFSET_MOVED_EVENT_TOPIC)
