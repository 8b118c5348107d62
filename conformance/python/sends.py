"""Every way to send, and what comes back to the sender and to a reader."""

from __future__ import annotations

from concurrent.futures import Future, wait

from conformance.python.lab import Lab
from conformance.python.seen import keys
from conformance.python.spelling import failure_text, tally
from conformance.python.steps import message, place, places, queue_at
from fakemq.client import Message, SendResult
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.hosts import format_host
from fakemq.protocol.message_id import decode_offset_id

ROUND = 16
BROKERS = ("broker-a", "broker-b")


def sync(lab: Lab) -> None:
    topic = lab.create_topic("Sync", 4)
    producer = lab.producer("Sync")
    lab.say("publish queues", places(producer.queues(topic)))
    results = [producer.send(message(topic, "round", f"r{i}")) for i in range(ROUND)]
    say_results(lab, results)
    vip = lab.producer("Vip", vip_channel=True)
    sent = vip.send(message(topic, "vip", "vip"), queue=queue_at(topic, "broker-b"))
    lab.say("vip status", sent.status)

    directed = lab.create_topic("Directed", 4)
    full = message(directed, "TagA", "k1 k2")
    full.flag = 5
    full.properties |= {"colour": "red", "größe": "ü 中", "WAIT": "false", "BUYER_ID": "buyer"}
    large = Message(directed, bytes(8192), tags="large", keys="k3")
    plain = Message(directed, "no tags, no keys")
    queue = queue_at(directed, "broker-a", 1)
    say_place(lab, "to a queue", producer.send(full, queue=queue))
    say_place(lab, "to a queue again", producer.send(large, queue=queue))
    say_place(lab, "by selector", producer.send(plain, selector=lambda queues, _: queues[6]))
    for one in lab.stored(directed, 3):
        lab.say(f"stored at {one.place}@{one.offset}", lab.describe(one))
    producer.close()
    lab.say_failure("after shutdown", lambda: producer.send(message(topic, "t", "k")).status)


def say_place(lab: Lab, key: str, result: SendResult) -> None:
    lab.say(key, f"{result.status.name} {place(result.queue)}@{result.queue_offset}")


def say_results(lab: Lab, results: list[SendResult]) -> None:
    lab.say("status", tally(one.status for one in results))
    lab.say("places", tally(f"{place(one.queue)}@{one.queue_offset}" for one in results))
    ids = [
        format_host(decode_offset_id(one.offset_msg_id)[0]) == lab.masters[one.broker_name]
        for one in results
    ]
    lab.say("ids", tally(f"offsetIdAtMaster={str(there).lower()}" for there in ids))
    lab.say("results", tally(rest(one) for one in results))


def rest(result: SendResult) -> str:
    transaction_id = result.transaction_id or "null"
    trace_on = str(result.trace_on).lower()
    return f"region={result.region_id} traceOn={trace_on} transactionId={transaction_id}"


def errors(lab: Lab) -> None:
    topic = lab.create_topic("Errors", 1)
    producer = lab.producer("Errors")
    known = queue_at(topic, "broker-a")
    elsewhere = queue_at(topic, "broker-a", 9)

    def fails(key: str, bad: Message, queue: MessageQueue | None = None) -> None:
        lab.say_failure(key, lambda: producer.send(bad, queue=queue).status)

    fails("illegal topic", message("no/slash", "t", "k"))
    fails("forbidden topic", message("SCHEDULE_TOPIC_XXXX", "t", "k"))
    fails("empty body", Message(topic, b""))
    fails("body over 4 MiB", Message(topic, bytes(4 * 1024 * 1024 + 1)))
    fails("properties over 32767 bytes", message(topic, "t", "k", wide="w" * 32767), known)
    lab.say("status", producer.send(message(topic, "t", "k")).status)
    lab.create_topic("Errors", 1, 4)
    fails("queue that became read-only", message(topic, "t", "k"), known)
    lab.create_topic("Errors", 1, 2)
    lab.say_failure("pull of a write-only queue", lambda: lab.puller.pull(known, 0))
    fails("no broker of that name", message(topic, "t", "k"), queue_at(topic, "broker-z"))
    lab.create_topic("Errors", 1)
    fails("queue id beyond the topic", message(topic, "t", "k"), elsewhere)
    unknown = lab.topic("Unknown")
    lab.say_failure(
        "subscribe queues of an unknown topic",
        lambda: lab.puller.fetch_subscribe_message_queues(unknown),
    )
    lab.say_failure(
        "pull of an unknown topic", lambda: lab.puller.pull(queue_at(unknown, "broker-a"), 0)
    )
    lab.say_failure("pull beyond the queues", lambda: lab.puller.pull(elsewhere, 0))


def asynchronous(lab: Lab) -> None:
    topic = lab.create_topic("Async", 4)
    producer = lab.producer("Async")
    sends: list[Future[SendResult]] = []
    failures: list[str] = []
    for i in range(ROUND):
        queue = queue_at(topic, BROKERS[i % 2], i // 2 % 4)
        sends.append(producer.send_async(message(topic, "async", f"a{i}"), queue=queue))
    sends.append(producer.send_async(Message(topic, b"")))
    done = wait(sends, 20)
    lab.say("all called back", not done.not_done)
    results = []
    for send in sends:
        try:
            results.append(send.result())
        except Exception as error:
            failures.append(failure_text(error).split(" ")[0])
    say_results(lab, results)
    lab.say("failures", tally(failures))
    lab.say("stored", keys(lab.stored(topic, ROUND)))


def oneway(lab: Lab) -> None:
    topic = lab.create_topic("Oneway", 4)
    producer = lab.producer("Oneway")
    for i in range(ROUND):
        producer.send_oneway(message(topic, "oneway", f"o{i}"))
    producer.send_oneway(message(topic, "oneway", "p"), queue=queue_at(topic, "broker-b", 3))
    stored = lab.stored(topic, ROUND + 1)
    lab.say("places", tally(one.place for one in stored))
    lab.say("stored", keys(stored))


def batch(lab: Lab) -> None:
    topic = lab.create_topic("Batch", 2)
    producer = lab.producer("Batch")
    queue = queue_at(topic, "broker-a", 1)
    for number in range(2):
        result = producer.send_batch([_member(topic, number, i) for i in range(5)], queue=queue)
        text = f"{result.status.name} {place(result.queue)}@{result.queue_offset}"
        ids, offset_ids = result.msg_id.split(","), result.offset_msg_id.split(",")
        lab.say(f"batch {number}", f"{text} ids={len(ids)} offsetIds={len(offset_ids)}")
    for one in lab.stored(topic, 10):
        lab.say(f"stored at {one.place}@{one.offset}", lab.describe(one))
    chosen = producer.send_batch([message(topic, "t", "c1"), message(topic, "t", "c2")])
    lab.say("batch by the client's choice", chosen.status)
    choice = {one.place for one in lab.stored(topic, 12) if one.keys.startswith("c")}
    lab.say("queues of that batch", len(choice))
    two = [message(topic, "t", "x"), message("Other", "t", "y")]
    lab.say_failure("batch of two topics", lambda: producer.send_batch(two))
    late = message(topic, "t", "late", DELAY="1")
    lab.say_failure("batch with a delay", lambda: producer.send_batch([late]))
    lab.say_failure("empty batch", lambda: producer.send_batch([]))


def _member(topic: str, number: int, i: int) -> Message:
    member = message(topic, "odd" if i % 2 else "even", f"b{number}{i}", index=str(i))
    member.flag = i
    return member


def auto_topic(lab: Lab) -> None:
    # The default topic's route has up to 8 queues a master; a producer that asks for 2 uses 2.
    for count, name, tag, key in (
        (None, "AutoFour", "a", "queues"),
        (2, "AutoTwo", "b", "queues with defaultTopicQueueNums=2"),
        (64, "AutoMany", "c", "queues with defaultTopicQueueNums=64"),
    ):
        options = {} if count is None else {"default_topic_queue_nums": count}
        producer = lab.settled(f"Auto{tag}", **options)
        topic = lab.topic(name)
        results = [producer.send(message(topic, "auto", f"{tag}{i}")) for i in range(ROUND)]
        if count is None:
            say_results(lab, results)
        lab.say("stored", len(lab.stored(topic, ROUND)))  # both brokers have registered it by then
        lab.say(key, places(lab.queues(topic)))
