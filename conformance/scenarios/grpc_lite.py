"""gRPC: lite topics, as the official clients' LitePushConsumer uses them."""

from __future__ import annotations

from typing import Any

from conformance.run import Run
from conformance.scenario import scenario
from conformance.scenarios.grpc_settings import tell
from conformance.targets.java_jars import NEWEST
from conformance.wire.lites import LITE, lite_topic
from conformance.wire.rpc_peer import RpcPeer, Telemetry
from conformance.wire.rpcs import (
    FRONT,
    MASTERS,
    acknowledging,
    assignment_of,
    burying,
    changing,
    consuming,
    handle_of,
    message,
    named,
    receive,
    receiving,
    route_of,
    sending,
    typed_group,
    typed_topic,
)
from fakemq.protocol.v5.codes import RequestCode5

LITE_FRONT = {**FRONT, **LITE}
KIND = "LITE_PUSH_CONSUMER"
FIVE = (NEWEST,)


def bound_group(run: Run, name: str, topic: str, **attributes: str) -> str:
    """Create a group that is bound to a topic, at both brokers."""
    given = {"+lite.bind.topic": topic} | {
        f"+lite.sub.{key.replace('_', '.')}": value for key, value in attributes.items()
    }
    return typed_group(run, name, attributes=given)


def lite_message(topic: str, lite: str, number: int = 0, **more: Any) -> dict[str, Any]:
    return message(topic, number, message_type="LITE", lite_topic=lite, **more)


def store(run: Run, topic: str, lite: str, *numbers: int) -> None:
    """Send messages, which are not written down."""
    run.note(f"sent to lite topic {lite} of {topic}: {', '.join(map(str, numbers))}")
    for number in numbers:
        one = sending(lite_message(topic, lite, number))
        run.grpc("producer").ask("SendMessage", one, silent=True)


def member(run: Run, name: str, group: str, topic: str) -> tuple[RpcPeer, Telemetry]:
    """Return a lite consumer that has sent its settings, which are not written down."""
    consumer = run.grpc(name)
    lines = len(run.lines)
    stream = consumer.settings(**consuming(group, {topic: "*"}, KIND))
    del run.lines[lines:]
    return consumer, stream


def syncing(action: str, group: str, topic: str, *lites: str, **more: Any) -> dict[str, Any]:
    """Return a SyncLiteSubscription."""
    return {
        "action": action,
        "topic": named(topic),
        "group": named(group),
        "lite_topic_set": list(lites),
        "version": 1,
    } | more


def client_info(run: Run, name: str, group: str, topic: str) -> None:
    """Write down what broker-a knows of a client's subscriptions."""
    client_id = run.grpc(name).metadata({})[0][1]
    fields = {"parentTopic": topic, "group": group, "clientId": client_id}
    run.ask("broker-a", RequestCode5.GET_LITE_CLIENT_INFO, fields)


@scenario("gRPC: lite messages that are sent", config=LITE_FRONT, grpc=True, releases=FIVE)
def grpc_lite_send(run: Run) -> None:
    topic = lite_topic(run, "GLiteSend")
    client = run.grpc("producer")
    client.ask("QueryRoute", route_of(topic))
    for lite in ("a", "a", "b"):
        client.ask("SendMessage", sending(lite_message(topic, lite)))
    run.note("names that no lite topic has")
    for lite in (" ", "a b", "a$b", "a%", "é", "l" * 64, "l" * 65, ""):
        client.ask("SendMessage", sending(lite_message(topic, lite)))
    run.note("other types")
    client.ask("SendMessage", sending(message(topic)))
    client.ask("SendMessage", sending(lite_message(topic, "a", message_group="g")))
    client.ask("SendMessage", sending(lite_message(topic, "a", priority=1)))
    plain = typed_topic(run, "GLiteSendPlain")
    client.ask("SendMessage", sending(lite_message(plain, "a")))
    run.note("several in one request")
    client.ask("SendMessage", sending(lite_message(topic, "a"), lite_message(topic, "b", 1)))


@scenario("gRPC: settings of lite consumers", config=LITE_FRONT, grpc=True, releases=FIVE)
def grpc_lite_settings(run: Run) -> None:
    topic = lite_topic(run, "GLiteSettings")
    other = lite_topic(run, "GLiteSettingsOther")
    group = bound_group(run, "GLiteSettings", topic, client_quota="7")
    usual = typed_group(run, "GLiteSettingsUsual", retryMaxTimes=2)
    tell(run, "bound", consuming(group, {topic: "*"}, KIND))
    tell(run, "to nothing", consuming(group, {}, KIND))
    tell(run, "to another", consuming(group, {other: "*"}, KIND))
    tell(run, "a usual group", consuming(usual, {topic: "*"}, KIND))
    tell(run, "not lite", consuming(group, {topic: "*"}, "PUSH_CONSUMER"))
    tell(run, "simple", consuming(group, {topic: "*"}, "SIMPLE_CONSUMER"))
    tell(run, "lite and simple", consuming(group, {topic: "*"}, "LITE_SIMPLE_CONSUMER"))
    run.grpc("bound").ask("Heartbeat", {"group": named(group), "client_type": KIND})
    run.grpc("bound").ask("QueryAssignment", assignment_of(topic, group))
    ordered = typed_group(
        run,
        "GLiteSettingsOrder",
        attributes={"+lite.bind.topic": topic},
        consumeMessageOrderly=True,
    )
    run.grpc("bound").ask("QueryAssignment", assignment_of(topic, ordered))


@scenario(
    "gRPC: lite subscriptions, and what is refused", config=LITE_FRONT, grpc=True, releases=FIVE
)
def grpc_lite_sync(run: Run) -> None:
    topic = lite_topic(run, "GLiteSync")
    group = bound_group(run, "GLiteSync", topic, client_quota="2")
    consumer, _ = member(run, "consumer", group, topic)
    consumer.ask("SyncLiteSubscription", syncing("PARTIAL_ADD", group, topic, "a", "b"))
    client_info(run, "consumer", group, topic)
    run.note("names that no lite topic has, where they are looked at and where not")
    for lite in (" ", "", "a b", "l" * 65):
        consumer.ask("SyncLiteSubscription", syncing("PARTIAL_ADD", group, topic, lite))
    consumer.ask("SyncLiteSubscription", syncing("PARTIAL_REMOVE", group, topic, "a b"))
    consumer.ask("SyncLiteSubscription", syncing("COMPLETE_ADD", group, topic, "a b"))
    client_info(run, "consumer", group, topic)
    run.note("other topics and groups")
    usual = typed_group(run, "GLiteSyncUsual", retryMaxTimes=2)
    consumer.ask("SyncLiteSubscription", syncing("PARTIAL_ADD", group, "GLiteNowhere", "a"))
    consumer.ask("SyncLiteSubscription", syncing("PARTIAL_ADD", usual, topic, "a"))
    consumer.ask("SyncLiteSubscription", syncing("PARTIAL_ADD", "GLiteUnknown", topic, "a"))
    consumer.ask("SyncLiteSubscription", syncing("PARTIAL_ADD", group, "a b", "a"))
    run.note("the quota of a client, and 300 more")
    many = [f"l{number}" for number in range(303)]
    consumer.ask("SyncLiteSubscription", syncing("PARTIAL_ADD", group, topic, *many))
    consumer.ask("SyncLiteSubscription", syncing("COMPLETE_ADD", group, topic, *many))
    run.note("nothing, and all of it; a client that is not there")
    consumer.ask("SyncLiteSubscription", syncing("PARTIAL_ADD", group, topic))
    consumer.ask("SyncLiteSubscription", syncing("COMPLETE_REMOVE", group, topic))
    client_info(run, "consumer", group, topic)
    stranger = run.grpc("stranger")
    stranger.ask("SyncLiteSubscription", syncing("PARTIAL_ADD", group, topic, "a"))
    run.note("a topic that the group is bound to, and that is not there")
    lost = bound_group(run, "GLiteSyncLost", "GLiteLost")
    stranger.ask("SyncLiteSubscription", syncing("PARTIAL_ADD", lost, "GLiteLost", "a"))
    run.note("a group that may not consume")
    off = typed_group(
        run, "GLiteSyncOff", attributes={"+lite.bind.topic": topic}, consumeEnable=False
    )
    stranger.ask("SyncLiteSubscription", syncing("PARTIAL_ADD", off, topic, "a"))


@scenario(
    "gRPC: lite messages are received and acknowledged",
    config=LITE_FRONT,
    grpc=True,
    releases=FIVE,
    real_s=7,
)
def grpc_lite_receive(run: Run) -> None:
    topic = lite_topic(run, "GLiteReceive")
    group = bound_group(run, "GLiteReceive", topic)
    consumer, _ = member(run, "consumer", group, topic)
    consumer.ask("SyncLiteSubscription", syncing("PARTIAL_ADD", group, topic, "a", "b"))
    store(run, topic, "a", 0)
    (first,) = receive(run, consumer, receiving(group, topic))
    run.note("acknowledged without its lite topic, and with it")
    handle = handle_of(first)
    consumer.ask("AckMessage", acknowledging(group, topic, handle))
    entry = {"message_id": "m", "receipt_handle": handle, "lite_topic": "a"}
    consumer.ask("AckMessage", acknowledging(group, topic, entries=[entry]))
    store(run, topic, "b", 1)
    (second,) = receive(run, consumer, receiving(group, topic))
    run.note("visible in a second, and again")
    change = changing(group, topic, handle_of(second), 1, lite_topic="b")
    consumer.ask("ChangeInvisibleDuration", change)
    (again,) = receive(run, consumer, receiving(group, topic))
    run.note("to the dead letters")
    consumer.ask(
        "ForwardMessageToDeadLetterQueue",
        burying(group, topic, handle_of(again), lite_topic="b"),
    )
    receive(run, consumer, receiving(group, topic))


@scenario(
    "gRPC: lite messages that are tried too often, and renewed ones",
    config=LITE_FRONT,
    grpc=True,
    releases=FIVE,
    real_s=10,
)
def grpc_lite_attempts(run: Run) -> None:
    topic = lite_topic(run, "GLiteTries")
    group = typed_group(run, "GLiteTries", attributes={"+lite.bind.topic": topic}, retryMaxTimes=1)
    consumer, _ = member(run, "consumer", group, topic)
    consumer.ask("SyncLiteSubscription", syncing("PARTIAL_ADD", group, topic, "a"))
    store(run, topic, "a", 0)
    wanted = receiving(group, topic, auto_renew=True)
    (first,) = receive(run, consumer, wanted)
    for _ in range(1):
        change = changing(group, topic, handle_of(first), 1, lite_topic="a")
        consumer.ask("ChangeInvisibleDuration", change)
        (first,) = receive(run, consumer, wanted)
    change = changing(group, topic, handle_of(first), 1, lite_topic="a")
    consumer.ask("ChangeInvisibleDuration", change)
    receive(run, consumer, wanted)
    store(run, topic, "a", 1)
    receive(run, consumer, wanted)


@scenario(
    "gRPC: receives of lite consumers that are refused",
    config=LITE_FRONT,
    grpc=True,
    releases=FIVE,
    real_s=12,
)
def grpc_lite_receive_refused(run: Run) -> None:
    topic = lite_topic(run, "GLiteRefused")
    other = lite_topic(run, "GLiteRefusedOther")
    group = bound_group(run, "GLiteRefused", topic)
    consumer, _ = member(run, "consumer", group, topic)
    run.note("without subscriptions")
    receive(run, consumer, receiving(group, topic))
    run.note("other topics and groups")
    receive(run, consumer, receiving(group, other))
    usual = typed_group(run, "GLiteRefusedUsual", retryMaxTimes=2)
    receive(run, consumer, receiving(usual, topic))
    receive(run, consumer, receiving(group, "GLiteNowhere"))
    receive(run, consumer, receiving("GLiteRefusedUnknown", topic))
    receive(run, consumer, receiving(group, typed_topic(run, "GLiteRefusedPlain")))
    run.note("a simple consumer of the parent")
    simple = run.grpc("simple")
    simple.settings(**consuming(usual, {topic: "*"}))
    store(run, topic, "a", 0)
    receive(run, simple, receiving(usual, topic))


@scenario(
    "gRPC: a lite consumer is notified to unsubscribe",
    config=LITE_FRONT,
    grpc=True,
    releases=FIVE,
    real_s=2,
)
def grpc_lite_unsubscribed(run: Run) -> None:
    topic = lite_topic(run, "GLiteExclusive")
    group = bound_group(run, "GLiteExclusive", topic, model="Exclusive")
    first, stream = member(run, "first", group, topic)
    first.ask("SyncLiteSubscription", syncing("PARTIAL_ADD", group, topic, "a", "b"))
    second, _ = member(run, "second", group, topic)
    second.ask("SyncLiteSubscription", syncing("PARTIAL_ADD", group, topic, "a"))
    run.until(stream.has_come, "the command")
    stream.take()
    client_info(run, "first", group, topic)
    store(run, topic, "a", 0)
    receive(run, second, receiving(group, topic))


@scenario(
    "gRPC: lite consumers that leave",
    config=LITE_FRONT,
    grpc=True,
    releases=FIVE,
    real_s=2,
)
def grpc_lite_leaves(run: Run) -> None:
    topic = lite_topic(run, "GLiteLeaves")
    group = bound_group(run, "GLiteLeaves", topic)
    add = syncing("PARTIAL_ADD", group, topic, "a")
    run.note("by its own word")
    first, _ = member(run, "first", group, topic)
    first.ask("SyncLiteSubscription", add)
    first.ask("NotifyClientTermination", {"group": named(group)})
    run.pass_time(500)
    client_info(run, "first", group, topic)
    run.note("by the end of its stream, cancelled")
    second, stream = member(run, "second", group, topic)
    second.ask("SyncLiteSubscription", add)
    stream.cancel()
    run.pass_time(500)
    client_info(run, "second", group, topic)
    run.note("by half of the end of its stream")
    third, stream = member(run, "third", group, topic)
    third.ask("SyncLiteSubscription", add)
    stream.half_close()
    run.pass_time(500)
    client_info(run, "third", group, topic)


@scenario(
    "gRPC: where a lite subscription begins",
    config=LITE_FRONT,
    grpc=True,
    releases=FIVE,
)
def grpc_lite_offsets(run: Run) -> None:
    topic = lite_topic(run, "GLiteOffsets")
    group = bound_group(run, "GLiteOffsets", topic)
    consumer, _ = member(run, "consumer", group, topic)
    options: dict[str, dict[str, Any]] = {
        "last": {"policy": "LAST"},
        "min": {"policy": "MIN"},
        "offset": {"offset": 1},
        "tail": {"tail_n": 2},
        "time": {"timestamp": 5},
    }
    for number, (lite, option) in enumerate(options.items()):
        store(run, topic, lite, 3 * number, 3 * number + 1)
        run.until_stored("broker-a", f"%LMQ%${topic}${lite}", 2)
        sync = syncing("PARTIAL_ADD", group, topic, lite, offset_option=option)
        consumer.ask("SyncLiteSubscription", sync)
        receive(run, consumer, receiving(group, topic))
    run.note("none of the kinds")
    sync = syncing("PARTIAL_ADD", group, topic, "x", offset_option={})
    consumer.ask("SyncLiteSubscription", sync)


@scenario(
    "gRPC: lite topics at two brokers",
    config=LITE_FRONT,
    grpc=True,
    releases=FIVE,
    real_s=3,
)
def grpc_lite_two_brokers(run: Run) -> None:
    topic = typed_topic(run, "GLiteTwo", "LITE", 2, MASTERS)
    group = bound_group(run, "GLiteTwo", topic)
    consumer, _ = member(run, "consumer", group, topic)
    lites = ("a", "b", "c", "d")
    consumer.ask("SyncLiteSubscription", syncing("PARTIAL_ADD", group, topic, *lites))
    client_id = consumer.metadata({})[0][1]
    for broker in MASTERS:
        fields = {"parentTopic": topic, "group": group, "clientId": client_id}
        run.ask(broker, RequestCode5.GET_LITE_CLIENT_INFO, fields)
        for lite in lites:
            info = {"parentTopic": topic, "liteTopic": lite}
            run.ask(broker, RequestCode5.GET_LITE_TOPIC_INFO, info)
    store(run, topic, "a", 0)
    store(run, topic, "b", 1)
    store(run, topic, "c", 2)
    store(run, topic, "d", 3)
    for broker in MASTERS:
        for lite in lites:
            info = {"parentTopic": topic, "liteTopic": lite}
            run.ask(broker, RequestCode5.GET_LITE_TOPIC_INFO, info)
        receive(run, consumer, receiving(group, topic, broker=broker))
