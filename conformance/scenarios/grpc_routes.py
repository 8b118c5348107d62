"""gRPC: routes, assignments, names that are refused, and what a client must say of itself."""

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import scenario
from conformance.targets.java_jars import NEWEST
from conformance.wire.rpcs import (
    FRONT,
    MASTERS,
    acknowledging,
    assignment_of,
    burying,
    changing,
    consuming,
    endpoints,
    message,
    named,
    receiving,
    route_of,
    sending,
    typed_group,
    typed_topic,
)

ODD_TOPICS = ("", " ", "x" * 128, "a b", "ü", "TBW102", "SCHEDULE_TOPIC_XXXX", "rmq_sys_any", "a|b")
ODD_GROUPS = ("", " ", "g" * 256, "a b", "CID_RMQ_SYS_any")
SYSTEM_TOPICS = (
    *("BenchmarkTest", "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRACE_TOPIC", "SELF_TEST_TOPIC"),
    *("OFFSET_MOVED_EVENT", "CHECKPOINT_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC", "DefaultCluster"),
)


@scenario("gRPC: routes of topics of every type", config=FRONT, grpc=True, releases=(NEWEST,))
def grpc_routes(run: Run) -> None:
    client = run.grpc()
    for kind in ("NORMAL", "FIFO", "DELAY", "TRANSACTION", "PRIORITY", "UNSPECIFIED", ""):
        client.ask("QueryRoute", route_of(typed_topic(run, f"GRoute{kind}", kind)))
    run.note("two brokers, two queues each")
    topic = typed_topic(run, "GRouteWide", "NORMAL", 2, MASTERS)
    found = client.ask("QueryRoute", route_of(topic), quiet=True)[0]
    for queue in sorted(found.message_queues, key=lambda one: (one.broker.name, one.id)):
        client.say_message(queue)
    run.note("permissions")
    for perm in (0, 1, 2, 4):
        client.ask("QueryRoute", route_of(typed_topic(run, f"GRoutePerm{perm}", perm=perm)))


@scenario(
    "gRPC: more queues for reading than for writing, and the reverse", config=FRONT, grpc=True
)
def grpc_route_queues(run: Run) -> None:
    client = run.grpc()
    for read, write in ((3, 1), (1, 3)):
        name = f"GRouteQueues{read}{write}"
        topic = typed_topic(run, name, queues=read, write_queues=write)
        client.ask("QueryRoute", route_of(topic))
        client.ask("QueryAssignment", assignment_of(topic, "GRouteQueues"))


@scenario("gRPC: the endpoints of a route are those of the request", config=FRONT, grpc=True)
def grpc_route_endpoints(run: Run) -> None:
    client = run.grpc()
    topic = typed_topic(run, "GRouteEndpoints")
    for scheme, host in (("IPv6", "::1"), ("DOMAIN_NAME", "mq.example"), ("IPv4", "10.0.0.1")):
        client.ask("QueryRoute", route_of(topic, endpoints=endpoints(1, host, scheme)))
    run.note("several addresses")
    addresses = [{"host": host, "port": 1} for host in ("10.0.0.1", "10.0.0.2")]
    client.ask("QueryRoute", route_of(topic, endpoints={"scheme": "IPv4", "addresses": addresses}))
    run.note("none")
    client.ask("QueryRoute", {"topic": named(topic)})
    client.ask("QueryRoute", route_of(topic, endpoints={}))
    client.ask("QueryAssignment", {"topic": named(topic), "group": named("GRouteEndpoints")})


@scenario("gRPC: names of topics that are refused", config=FRONT, grpc=True)
def grpc_odd_topics(run: Run) -> None:
    client = run.grpc()
    for name in (*ODD_TOPICS, *SYSTEM_TOPICS, "GNowhere", "%RETRY%GNowhere", "%DLQ%GNowhere"):
        client.ask("QueryRoute", route_of(name))
    run.note("no topic at all")
    client.ask("QueryRoute", {"endpoints": endpoints()})
    client.ask("QueryRoute", {"topic": {}, "endpoints": endpoints()})
    run.note("a namespace")
    topic = typed_topic(run, "GNamespace")
    resource = {"name": topic, "resource_namespace": "space"}
    client.ask("QueryRoute", {"topic": resource, "endpoints": endpoints()})
    for name in ("", "a b", "TBW102"):
        client.ask("QueryAssignment", assignment_of(name, "GOdd"))
        client.ask("SendMessage", sending(message(name)))
        client.ask("RecallMessage", {"topic": named(name), "recall_handle": "x"})
        client.ask("AckMessage", acknowledging("GOdd", name, "x"))
        client.ask("ChangeInvisibleDuration", changing("GOdd", name, "x", 10))
        client.ask("ForwardMessageToDeadLetterQueue", burying("GOdd", name, "x"))


@scenario("gRPC: names of groups that are refused", config=FRONT, grpc=True)
def grpc_odd_groups(run: Run) -> None:
    client = run.grpc()
    topic = typed_topic(run, "GOddGroups")
    for name in ODD_GROUPS:
        client.ask("QueryAssignment", assignment_of(topic, name))
        client.ask("AckMessage", acknowledging(name, topic, "x"))
        client.ask("ChangeInvisibleDuration", changing(name, topic, "x", 10))
        client.ask("ForwardMessageToDeadLetterQueue", burying(name, topic, "x"))
        stream = client.telemetry()
        stream.send(settings=consuming(name, {topic: "*"}))
        stream.take()
    client.settings(**consuming("GOddGroups", {topic: "*"}))
    for name in ODD_GROUPS:
        client.ask("ReceiveMessage", receiving(name, topic))
        client.ask("Heartbeat", {"group": named(name), "client_type": "SIMPLE_CONSUMER"})
        client.ask("NotifyClientTermination", {"group": named(name)})


@scenario("gRPC: assignments", config=FRONT, grpc=True)
def grpc_assignments(run: Run) -> None:
    client = run.grpc()
    topic = typed_topic(run, "GAssigned", "NORMAL", 2, MASTERS)
    plain = typed_group(run, "GAssigned", retryMaxTimes=2)
    ordered = typed_group(run, "GAssignedInOrder", consumeMessageOrderly=True)
    for group in (plain, ordered, "GAssignedUnknown"):
        found = client.ask("QueryAssignment", assignment_of(topic, group), quiet=True)[0]
        client.say_message(found.status)
        queues = [one.message_queue for one in found.assignments]
        for queue in sorted(queues, key=lambda one: (one.broker.name, one.id)):
            client.say_message(queue)
    run.note("nothing may be read")
    client.ask("QueryAssignment", assignment_of(typed_topic(run, "GUnread", perm=2), plain))
    run.note("no such topic")
    client.ask("QueryAssignment", assignment_of("GNowhereAssigned", plain))


@scenario("gRPC: what a client says of itself", config=FRONT, grpc=True)
def grpc_metadata(run: Run) -> None:
    client = run.grpc()
    topic = typed_topic(run, "GMetadata")
    requests = {
        "QueryRoute": route_of(topic),
        "QueryAssignment": assignment_of(topic, "GMetadata"),
        "SendMessage": sending(message(topic)),
        "ReceiveMessage": receiving("GMetadata", topic),
        "AckMessage": acknowledging("GMetadata", topic, "x"),
        "ChangeInvisibleDuration": changing("GMetadata", topic, "x", 10),
        "ForwardMessageToDeadLetterQueue": burying("GMetadata", topic, "x"),
        "EndTransaction": {"topic": named(topic)},
        "RecallMessage": {"topic": named(topic), "recall_handle": "x"},
        "Heartbeat": {"client_type": "PRODUCER"},
        "NotifyClientTermination": {},
        "SyncLiteSubscription": {"topic": named(topic), "group": named("GMetadata")},
    }
    run.note("no client id")
    for rpc, fields in requests.items():
        client.ask(rpc, fields, metadata={"x-mq-client-id": None})
    client.ask("QueryRoute", route_of(topic), metadata={"x-mq-client-id": " "})
    stream = client.telemetry(metadata={"x-mq-client-id": None})
    stream.send(settings=consuming("GMetadata", {topic: "*"}))
    stream.take()
    run.note("nothing but a client id")
    bare = dict.fromkeys(("x-mq-language", "x-mq-client-version", "x-mq-protocol"))
    client.ask("QueryRoute", route_of(topic), metadata=bare)
    client.ask("SendMessage", sending(message(topic)), metadata=bare)


@scenario("gRPC: what no proxy of this release answers", config=FRONT, grpc=True)
def grpc_refused(run: Run) -> None:
    client = run.grpc()
    topic = typed_topic(run, "GRefused")
    queue = {"topic": named(topic), "id": 0, "broker": {"name": "broker-a"}}
    group = named("GRefused")
    client.ask("PullMessage", {"group": group, "message_queue": queue, "batch_size": 1})
    client.ask("UpdateOffset", {"group": group, "message_queue": queue, "offset": 1})
    client.ask("GetOffset", {"group": group, "message_queue": queue})
    client.ask("QueryOffset", {"message_queue": queue, "query_offset_policy": "END"})
    run.note("light topics")
    fields = {"topic": named(topic), "group": group, "lite_topic_set": ["one"]}
    client.ask("SyncLiteSubscription", {"action": "PARTIAL_ADD"} | fields)
    stream = client.telemetry()
    stream.send(settings=consuming("GRefused", {topic: "*"}, "LITE_PUSH_CONSUMER"))
    stream.take()
    client.ask("SyncLiteSubscription", {"action": "PARTIAL_ADD"} | fields)
