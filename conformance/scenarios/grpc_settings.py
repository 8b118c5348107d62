"""gRPC: telemetry with settings, heartbeats, and clients that leave."""

from __future__ import annotations

from typing import Any

from conformance.run import Run
from conformance.scenario import scenario
from conformance.wire.rpcs import (
    FRONT,
    assignment_of,
    consuming,
    message,
    named,
    producing,
    receiving,
    seconds,
    sending,
    typed_group,
    typed_topic,
)

SILENT_S = 0.3
"""How long nothing comes where nothing will."""


def tell(run: Run, name: str, settings: dict[str, Any], **more: Any) -> None:
    """Send settings as a client of that name, and write down what comes; the stream stays open."""
    stream = run.grpc(name).telemetry(**more)
    stream.send(settings=settings)
    stream.take()


@scenario("gRPC: settings of producers", config=FRONT, grpc=True)
def grpc_settings_producer(run: Run) -> None:
    topic = typed_topic(run, "GSettings")
    tell(run, "producer", producing(topic))
    run.note("without a topic, with one that is not there, with one that no topic may be called")
    tell(run, "no topic", producing())
    tell(run, "unknown topic", producing("GSettingsNowhere"))
    tell(run, "odd topic", producing("a b"))
    run.note("with a wish for everything")
    policy = {"max_attempts": 9, "exponential_backoff": {"initial": seconds(1), "multiplier": 3}}
    wishes = {"topics": [named(topic)], "max_body_size": 1, "validate_message_type": False}
    tell(run, "wishes", producing(backoff_policy=policy, publishing=wishes, metric={"on": True}))
    run.note("bare")
    tell(run, "bare", {"publishing": {}})


@scenario("gRPC: settings of consumers", config=FRONT, grpc=True)
def grpc_settings_consumer(run: Run) -> None:
    topic = typed_topic(run, "GSettingsConsumer")
    custom = {"customizedRetryPolicy": {"next": [1000, 2500]}, "type": "CUSTOMIZED"}
    steps = {"initial": 1000, "max": 60_000, "multiplier": 3}
    exponential = {"exponentialRetryPolicy": steps, "type": "EXPONENTIAL"}
    typed_group(run, "GSettingsPlain", retryMaxTimes=2)
    typed_group(run, "GSettingsOrder", consumeMessageOrderly=True, retryMaxTimes=0)
    typed_group(run, "GSettingsCustom", groupRetryPolicy=custom)
    typed_group(run, "GSettingsSteps", groupRetryPolicy=exponential)
    for group in ("GSettingsPlain", "GSettingsOrder", "GSettingsCustom", "GSettingsSteps"):
        tell(run, f"consumer of {group}", consuming(group, {topic: "*"}))
    run.note("a group that is not there")
    tell(run, "consumer", consuming("GSettingsUnknown", {topic: "*"}))
    run.note("kinds of clients")
    for kind in ("PUSH_CONSUMER", "PULL_CONSUMER", "LITE_PUSH_CONSUMER", "LITE_SIMPLE_CONSUMER"):
        tell(run, f"a {kind}", consuming("GSettingsPlain", {topic: "*"}, kind))
    tell(run, "none", consuming("GSettingsPlain", {topic: "*"}, "CLIENT_TYPE_UNSPECIFIED"))
    tell(run, "a producer", consuming("GSettingsPlain", {topic: "*"}, "PRODUCER"))
    run.note("subscriptions")
    tell(run, "no subscription", consuming("GSettingsPlain", {}))
    tell(run, "unknown topic", consuming("GSettingsPlain", {"GSettingsNowhere": "a || b"}))
    tell(run, "odd topic", consuming("GSettingsPlain", {"a b": "*"}))
    tell(run, "odd tags", consuming("GSettingsPlain", {topic: "||"}))
    entry = {"topic": named(topic), "expression": {"type": "SQL", "expression": "a >"}}
    subscription = {"group": named("GSettingsPlain"), "subscriptions": [entry]}
    tell(run, "odd sql", {"client_type": "PUSH_CONSUMER", "subscription": subscription})
    run.note("with a wish for everything")
    wishes = {
        "group": named("GSettingsPlain"),
        "fifo": True,
        "receive_batch_size": 1,
        "long_polling_timeout": seconds(1),
    }
    tell(run, "wishes", {"client_type": "PUSH_CONSUMER", "subscription": wishes})


@scenario("gRPC: telemetry that is no settings", config=FRONT, grpc=True)
def grpc_telemetry_odd(run: Run) -> None:
    topic = typed_topic(run, "GTelemetry")
    tell(run, "neither", {"client_type": "PRODUCER"})
    run.note("nothing at all: the stream stays open, and takes settings")
    empty = run.grpc("empty").telemetry()
    empty.send()
    empty.nothing_comes(SILENT_S)
    empty.send(settings=producing(topic))
    empty.take()
    run.note("answers that nothing asked for")
    for command in (
        {"thread_stack_trace": {"nonce": "n", "thread_stack_trace": "t"}},
        {"verify_message_result": {"nonce": "n"}},
        {"verify_message_result": {"nonce": "n"}, "status": {"code": "OK"}},
    ):
        empty.send(**command)
        empty.nothing_comes(SILENT_S)
    run.note("commands of a server")
    for command in (
        {"print_thread_stack_trace_command": {"nonce": "n"}},
        {"reconnect_endpoints_command": {"nonce": "n"}},
    ):
        empty.send(**command)
        empty.nothing_comes(SILENT_S)
    empty.half_close()
    empty.take()
    run.note("languages")
    for language in (None, "GOLANG", "RUST", "HTTP", "java"):
        settings = producing(topic)
        tell(run, f"language {language}", settings, metadata={"x-mq-language": language})
    run.note("versions")
    for version in (None, "", "5.5.0", "odd"):
        tell(run, f"version {version}", producing(topic), metadata={"x-mq-client-version": version})


@scenario("gRPC: settings sent again, and on a second stream", config=FRONT, grpc=True)
def grpc_settings_again(run: Run) -> None:
    topic = typed_topic(run, "GSettingsAgain")
    other = typed_topic(run, "GSettingsAgainOther")
    group = typed_group(run, "GSettingsAgain", retryMaxTimes=2)
    client = run.grpc()
    first = client.telemetry()
    first.send(settings=consuming(group, {topic: "*"}))
    first.take()
    first.send(settings=consuming(group, {topic: "*", other: "*"}))
    first.take()
    second = client.telemetry()
    second.send(settings=consuming(group, {other: "*"}))
    second.take()
    first.nothing_comes(SILENT_S)
    run.note("the first stream is still taken")
    first.send(settings=consuming(group, {topic: "a"}))
    first.take()
    second.nothing_comes(SILENT_S)
    run.note("the second ends")
    second.half_close()
    second.take()
    client.ask("Heartbeat", {"group": named(group), "client_type": "SIMPLE_CONSUMER"})


@scenario("gRPC: heartbeats, and clients that leave", config=FRONT, grpc=True)
def grpc_heartbeats(run: Run) -> None:
    topic = typed_topic(run, "GHeartbeat")
    group = typed_group(run, "GHeartbeat", retryMaxTimes=2)
    client = run.grpc()
    kinds = (
        *("PRODUCER", "PUSH_CONSUMER", "SIMPLE_CONSUMER", "PULL_CONSUMER"),
        *("LITE_PUSH_CONSUMER", "LITE_SIMPLE_CONSUMER", "CLIENT_TYPE_UNSPECIFIED"),
    )
    run.note("before its settings")
    for kind in kinds:
        client.ask("Heartbeat", {"group": named(group), "client_type": kind})
    client.ask("NotifyClientTermination", {"group": named(group)})
    client.settings(**consuming(group, {topic: "*"}))
    run.note("after them: what a heartbeat says of its kind does not count")
    for kind in kinds:
        client.ask("Heartbeat", {"group": named(group), "client_type": kind})
    client.ask("Heartbeat", {"client_type": "SIMPLE_CONSUMER"})
    client.ask("Heartbeat", {"group": named("GHeartbeatOther"), "client_type": "SIMPLE_CONSUMER"})
    client.ask("NotifyClientTermination", {"group": named(group)})
    run.note("it has left")
    client.ask("Heartbeat", {"group": named(group), "client_type": "SIMPLE_CONSUMER"})
    client.ask("NotifyClientTermination", {"group": named(group)})
    client.ask("ReceiveMessage", receiving(group, topic))
    client.ask("QueryAssignment", assignment_of(topic, group))
    run.note("a producer")
    producer = run.grpc("producer")
    producer.settings(**producing(topic))
    producer.ask("Heartbeat", {"client_type": "PRODUCER"})
    producer.ask("Heartbeat", {"group": named(group), "client_type": "PRODUCER"})
    producer.ask("NotifyClientTermination")
    producer.ask("SendMessage", sending(message(topic)))


@scenario("gRPC: settings on a stream that is taken away", config=FRONT, grpc=True)
def grpc_settings_cancelled(run: Run) -> None:
    topic = typed_topic(run, "GSettingsGone")
    group = typed_group(run, "GSettingsGone", retryMaxTimes=2)
    client = run.grpc()
    stream = client.telemetry()
    stream.send(settings=consuming(group, {topic: "*"}))
    stream.take()
    stream.cancel()
    stream.take()
    client.ask("Heartbeat", {"group": named(group), "client_type": "SIMPLE_CONSUMER"})
