"""Consumers: which pulls are allowed, and what happens to topics and groups under them."""

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import ENDS_ON_FOUR, scenario
from conformance.wire.requests import (
    GROUP,
    HELD,
    REFUSING,
    UNIQUE_ID,
    group_config,
    heartbeat,
    offset_fields,
    place_of,
    properties,
    pull_fields,
    send_back_fields,
    send_v2_fields,
    topic_fields,
)
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.topics import OFFSET_MOVED_EVENT_TOPIC, retry_topic


def set_permission(run: Run, perm: int) -> None:
    body = f"brokerPermission={perm}"
    run.ask("broker-a", RequestCode.UPDATE_BROKER_CONFIG, {}, body)


def change_topic(run: Run, topic: str, queues: int, perm: int = 6) -> None:
    fields = topic_fields(topic, readQueueNums=queues, writeQueueNums=queues, perm=perm)
    run.ask("broker-a", RequestCode.UPDATE_AND_CREATE_TOPIC, fields)


def send(run: Run, topic: str, body: str = "x", **more: object) -> int:
    fields = send_v2_fields(topic) | more
    answer = run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, fields, body, peer="producer")
    return place_of(answer.fields) if answer.code == 0 else 0


@scenario("groups that are not there, where none is made", config=REFUSING)
def unknown_group(run: Run) -> None:
    topic = run.topic("SStrict")
    place = send(run, topic)
    run.until_stored("broker-a", topic, 1)
    run.pull(topic, consumerGroup="GStrict")
    fields = send_back_fields("GStrict", place)
    run.ask("broker-a", RequestCode.CONSUMER_SEND_MSG_BACK, fields, peer="consumer")
    send(run, retry_topic("GStrict"), e=0)
    body = heartbeat("strict@1", "GStrict", topic)
    run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer="consumer")
    run.pull(topic, sysFlag=0, subVersion=1, consumerGroup="GStrict")
    run.note("one of those that there always are")
    run.pull(topic, consumerGroup="TOOLS_CONSUMER")
    run.note("made by an admin")
    body = group_config("GStrict")
    run.ask("broker-a", RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, body)
    run.pull(topic, consumerGroup="GStrict")


@scenario("a group that is suspended under its consumer, and resumed")
def suspended_group(run: Run) -> None:
    topic = run.topic("SSuspended")
    group = "GSuspended"
    body = heartbeat("suspended@1", group, topic)
    run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer="consumer")
    held = run.hold(pull_fields(topic, sysFlag=HELD, consumerGroup=group))
    body = group_config(group, consumeEnable=False)
    run.ask("broker-a", RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, body)
    run.note("a held pull is answered when a message comes")
    send(run, topic)
    held.answer()
    run.pull(topic, consumerGroup=group, commitOffset=1, sysFlag=5)
    run.ask("broker-a", RequestCode.QUERY_CONSUMER_OFFSET, offset_fields(topic, group))
    body = group_config(group)
    run.ask("broker-a", RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, body)
    run.pull(topic, consumerGroup=group)


@scenario("a group that may not broadcast")
def broadcast_forbidden(run: Run) -> None:
    topic = run.topic("SBroadcast")
    run.store(topic, "a")
    group = run.group("GBroadcast", consumeBroadcastEnable=False)
    body = heartbeat("broadcast@1", group, topic, model="BROADCASTING")
    run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer="consumer")
    run.pull(topic, consumerGroup=group, sysFlag=0, subVersion=1)
    run.note("a pull that brings its subscription needs no heartbeat's")
    run.pull(topic, consumerGroup=group)
    run.note("the model of a group is that of the last heartbeat")
    body = heartbeat("broadcast@1", group, topic)
    run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer="consumer")
    run.pull(topic, consumerGroup=group, sysFlag=0, subVersion=1)


@scenario("a broker that may not be read, or not be written")
def broker_permission(run: Run) -> None:
    topic = run.topic("SPermission")
    place = send(run, topic)
    run.until_stored("broker-a", topic, 1)
    run.note("not read")
    set_permission(run, 2)
    run.pull(topic)
    send(run, topic)
    run.note("not written: a send does not check it, a send back does")
    set_permission(run, 4)
    send(run, topic)
    run.until_stored("broker-a", topic, 3)
    fields = send_back_fields("GPermission", place)
    run.ask("broker-a", RequestCode.CONSUMER_SEND_MSG_BACK, fields, peer="consumer")
    run.pull(topic)
    run.note("what the name server receives of it")

    def is_read_only() -> bool:
        route = run.client.update_route(topic)
        return route is not None and 4 in [one.perm for one in route.data.queue_datas]

    run.until(is_read_only, "the permission in the route")
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
    run.note("as it was")
    set_permission(run, 6)
    run.pull(topic)


@scenario("a topic that shrinks and grows under its consumers")
def queues_come_and_go(run: Run) -> None:
    topic = run.topic("SShrinks", 2)
    run.store(topic, "a", queue_id=1)
    fields = pull_fields(topic, 1, queueId=1, sysFlag=HELD)
    held = run.hold(fields, peer="held")
    change_topic(run, topic, 1)
    run.note("the second queue is gone for pulls and sends")
    run.pull(topic, queueId=1)
    send(run, topic, e=1)
    run.ask("broker-a", RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": 1})
    run.note("and back, with what it had")
    change_topic(run, topic, 3)
    run.pull(topic, queueId=1)
    send(run, topic, "for the held one", e=1)
    held.answer()
    run.note("more to read than to write: sent to nevertheless")
    fields = topic_fields(topic, readQueueNums=4, writeQueueNums=1)
    run.ask("broker-a", RequestCode.UPDATE_AND_CREATE_TOPIC, fields)
    send(run, topic, e=3)
    run.until_stored("broker-a", topic, 1, 3)
    run.pull(topic, queueId=3)
    send(run, topic, e=-1)
    run.note("not readable: pulled no more; a held pull is answered")
    fields = pull_fields(topic, 1, queueId=3, sysFlag=HELD)
    held = run.hold(fields, peer="held")
    change_topic(run, topic, 4, perm=2)
    run.pull(topic)
    send(run, topic, e=3)
    held.answer()


@scenario("a topic that is deleted under its consumer")
def deleted_topic(run: Run) -> None:
    topic = run.topic("SDeleted")
    run.store(topic, "a", "b")
    fields = offset_fields(topic, commitOffset=2)
    run.ask("broker-a", RequestCode.UPDATE_CONSUMER_OFFSET, fields, peer="consumer")
    run.ask("broker-a", RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic})
    run.pull(topic, 2)
    run.note("its offsets stay")
    run.ask("broker-a", RequestCode.QUERY_CONSUMER_OFFSET, offset_fields(topic))
    run.note("another broker registers it at the name server")
    run.ask("namesrv", RequestCode.DELETE_TOPIC_IN_NAMESRV, {"topic": topic})
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
    run.note("made again by a send: another beginning")
    send(run, topic, d=1)
    run.until_stored("broker-a", topic, 1)
    run.pull(topic)
    run.pull(topic, 2)
    run.note("topics that are not there, or have no name")
    run.ask("broker-a", RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "SNowhere"})
    run.ask("broker-a", RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "TBW102"})
    run.ask("broker-a", RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": ""})
    run.ask("broker-a", RequestCode.DELETE_TOPIC_IN_BROKER, {})


@scenario("a group that is deleted, with its offsets or without")
def deleted_group(run: Run) -> None:
    topic = run.topic("SGroupGone")
    run.store(topic, "a", "b")

    def offset(group: str) -> None:
        fields = offset_fields(topic, group)
        run.ask("broker-a", RequestCode.QUERY_CONSUMER_OFFSET, fields, peer="consumer")

    for group, with_offsets in (("GGone", None), ("GGoneKept", False), ("GGoneWhole", True)):
        run.pull(topic, consumerGroup=group, sysFlag=5, commitOffset=1)
        fields: dict[str, object] = {"groupName": group}
        if with_offsets is not None:
            fields["removeOffset"] = with_offsets
        run.ask("broker-a", RequestCode.DELETE_SUBSCRIPTIONGROUP, fields)
        offset(group)
    run.note("made again by a pull")
    run.pull(topic, 1, consumerGroup="GGone")
    run.note("groups that are not there")
    run.ask("broker-a", RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": "GNowhere"})
    run.ask("broker-a", RequestCode.DELETE_SUBSCRIPTIONGROUP, {})


@scenario("pull: an offset that has moved leaves an event", releases=ENDS_ON_FOUR)
def offset_moved_event(run: Run) -> None:
    topic = run.topic("SMoved")
    run.store(topic, "a", "b")
    run.shared(OFFSET_MOVED_EVENT_TOPIC)
    run.pull(topic, 100, consumerGroup="GMoved")
    run.pull(topic, -1, consumerGroup="GMoved")
    run.wait_stored(OFFSET_MOVED_EVENT_TOPIC, 2, 3_000)
    run.pull(OFFSET_MOVED_EVENT_TOPIC)
    run.note("an empty queue leaves one as well")
    run.pull(run.topic("SMovedEmpty"), 5, consumerGroup="GMoved")
    run.pass_time(200)
    run.pull(OFFSET_MOVED_EVENT_TOPIC, 2)


@scenario("pull: no more than is wanted, no more than 32, no more than 256 KiB")
def pull_limits(run: Run) -> None:
    topic = run.topic("SLimits")
    for number in range(3):
        send(run, topic, str(number) * 130_000)
    run.until_stored("broker-a", topic, 3)
    run.pull(topic)
    run.pull(topic, 2)
    run.note("thirty-four small ones")
    small = run.topic("SLimitsSmall")
    run.store(small, *["t"] * 34)
    answer = run.pull(small, maxMsgNums=100)
    run.note(f"next: {answer.fields['nextBeginOffset']}")
    run.note("none wanted")
    run.pull(small, maxMsgNums=0)
    run.pull(small, maxMsgNums=-1)


@scenario("a consumer that commits on its way")
def commit_by_pull(run: Run) -> None:
    topic = run.topic("SCommitting")
    run.store(topic, "a", "b")

    def offset() -> None:
        fields = offset_fields(topic, GROUP)
        run.ask("broker-a", RequestCode.QUERY_CONSUMER_OFFSET, fields, peer="consumer")

    run.pull(topic, sysFlag=5, commitOffset=2)
    offset()
    run.note("not found, moved: committed nevertheless; refused: not")
    run.pull(topic, 2, sysFlag=5, commitOffset=1)
    offset()
    run.pull(topic, 9, sysFlag=5, commitOffset=2)
    offset()
    run.pull(topic, sysFlag=5, commitOffset=1, queueId=7)
    run.pull(topic, sysFlag=5, commitOffset=1, subscription="a >", expressionType="SQL92")
    offset()


@scenario("send: properties of one's own that are called like the system's")
def own_properties(run: Run) -> None:
    topic = run.topic("SOwn", 2)
    text = properties(
        UNIQ_KEY=UNIQUE_ID.format(1),
        CLUSTER="mine",
        MSG_REGION="mine",
        TRACE_ON="false",
        REAL_TOPIC="SSomewhere",
        REAL_QID="1",
        RETRY_TOPIC="SSomewhere",
        RECONSUME_TIME="3",
        MAX_RECONSUME_TIMES="1",
        MIN_OFFSET="7",
        MAX_OFFSET="8",
        ORIGIN_MESSAGE_ID="mine",
        TRANSACTION_CHECK_TIMES="14",
        PGROUP="PMine",
        DELAY="0",
        WAIT="false",
        INSTANCE_ID="mine",
    )
    send(run, topic, i=text)
    run.note("twice the same name, no value, no name, no separator, one at the end")
    send(run, topic, i="a\x011\x02a\x012\x02b\x01\x02\x01c\x02d\x02e\x015\x02")
    send(run, topic, i="\x02\x02")
    send(run, topic, i="umlaut\x01ü and \U0001f600")
    run.until_stored("broker-a", topic, 4)
    run.pull(topic)


@scenario("send: sizes at their limits", releases=ENDS_ON_FOUR)
def size_limits(run: Run) -> None:
    topic = run.topic("SSizes")
    run.note("a body of 4 MiB; with the rest of the message it is still one")
    send(run, topic, "x" * (4 * 1024 * 1024))
    send(run, topic, "x" * (4 * 1024 * 1024 + 1))
    run.note("properties of 32767 bytes with what the broker adds, and of one more")
    added = len(properties(CLUSTER="DefaultCluster")) + 1 + len("long") + 1
    send(run, topic, i=properties(long="y" * (32_767 - added)))
    send(run, topic, i=properties(long="y" * (32_768 - added)))
    run.note("a topic of 127 bytes, and of one more")
    send(run, "S" * 127, d=1)
    send(run, "S" * 128, d=1)
    run.until_stored("broker-a", topic, 2)
    run.pull(topic, 1)


@scenario("send: flags of the system that a client may set")
def system_flags(run: Run) -> None:
    topic = run.topic("SFlags")
    for flag in (1, 2, 3, 0x100 | 1, 0x200 | 1, 0x300 | 1):
        send(run, topic, f"flag {flag}", f=flag)
    run.note("committed, or rolled back, by the sender: rolled back, it is in no queue")
    send(run, topic, "flag 8", f=8)
    send(run, topic, "flag 12", f=12)
    run.until_stored("broker-a", topic, 7)
    run.pull(topic)
