"""Groups and their members, queue locks, and the client core itself."""

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import scenario
from conformance.wire.requests import heartbeat, message_queue
from fakemq.client import Message, PullStatus
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import RequestCode

GROUP = "GMembers"


@scenario("members of a group: which are notified, and what is known of them")
def members(run: Run) -> None:
    topic = run.topic("SMembers")

    def beat(name: str) -> None:
        body = heartbeat(f"{name}@1", GROUP, topic)
        run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer=name)

    group = {"consumerGroup": GROUP}
    run.ask("broker-a", RequestCode.GET_CONSUMER_LIST_BY_GROUP, group)
    run.ask("broker-a", RequestCode.GET_CONSUMER_CONNECTION_LIST, group)
    run.note("the first member; the news of it comes before the answer to its heartbeat")
    beat("first")
    run.note("again: no news")
    beat("first")
    run.peer("first", "broker-a").nothing_comes()
    run.note("the second: both are notified")
    beat("second")
    run.peer("first", "broker-a").take_requests()
    run.ask("broker-a", RequestCode.GET_CONSUMER_LIST_BY_GROUP, group)
    run.ask("broker-a", RequestCode.GET_CONSUMER_CONNECTION_LIST, group)
    run.note("the first leaves: the second is notified")
    leaving = {"clientID": "first@1", "consumerGroup": GROUP}
    run.ask("broker-a", RequestCode.UNREGISTER_CLIENT, leaving, peer="first")
    run.peer("second", "broker-a").take_requests()
    run.ask("broker-a", RequestCode.GET_CONSUMER_LIST_BY_GROUP, group)
    run.note("the second's connection ends")
    run.hang_up("second", "broker-a")
    run.until(lambda: not run.is_member("broker-a", GROUP), "the end of the group")
    run.ask("broker-a", RequestCode.GET_CONSUMER_LIST_BY_GROUP, group)
    run.note("a member that never was leaves")
    run.ask("broker-a", RequestCode.UNREGISTER_CLIENT, leaving)


@scenario("producers: known by their heartbeats")
def producers(run: Run) -> None:
    body = {
        "clientID": "producer@1",
        "consumerDataSet": [],
        "producerDataSet": [{"groupName": "PMembers"}],
    }
    group = {"producerGroup": "PMembers"}
    run.ask("broker-a", RequestCode.GET_PRODUCER_CONNECTION_LIST, group)
    run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer="producer")
    run.ask("broker-a", RequestCode.GET_PRODUCER_CONNECTION_LIST, group)
    leaving = {"clientID": "producer@1", "producerGroup": "PMembers"}
    run.ask("broker-a", RequestCode.UNREGISTER_CLIENT, leaving, peer="producer")
    run.ask("broker-a", RequestCode.GET_PRODUCER_CONNECTION_LIST, group)


@scenario("queue locks: one client at a time, and unlocked by its owner only")
def queue_locks(run: Run) -> None:
    topic = run.topic("SLocks", 2)

    def ask(code: int, name: str, *queue_ids: int, group: str = "GLocks") -> None:
        body = {
            "clientId": f"{name}@1",
            "consumerGroup": group,
            "mqSet": [message_queue(topic, one) for one in queue_ids],
        }
        run.ask("broker-a", code, {}, body, peer=name)

    ask(RequestCode.LOCK_BATCH_MQ, "first", 0)
    run.note("again, and one more")
    ask(RequestCode.LOCK_BATCH_MQ, "first", 0, 1)
    run.note("the second gets none")
    ask(RequestCode.LOCK_BATCH_MQ, "second", 0, 1)
    run.note("nor can it unlock what is not its own")
    ask(RequestCode.UNLOCK_BATCH_MQ, "second", 0)
    ask(RequestCode.LOCK_BATCH_MQ, "second", 0)
    run.note("another group has locks of its own")
    ask(RequestCode.LOCK_BATCH_MQ, "second", 0, group="GLocksOther")
    run.note("the first unlocks one")
    ask(RequestCode.UNLOCK_BATCH_MQ, "first", 0)
    ask(RequestCode.LOCK_BATCH_MQ, "second", 0, 1)
    run.note("no queue, and one that is not there")
    ask(RequestCode.LOCK_BATCH_MQ, "first")
    ask(RequestCode.LOCK_BATCH_MQ, "first", 99)


@scenario("client core: what it sends it pulls")
def client_core(run: Run) -> None:
    topic = run.topic("SCore", 2)
    client = run.client
    queue = MessageQueue(topic=topic, broker_name="broker-b", queue_id=1)
    one = client.send(Message(topic, "one", tags="a", keys="k"), queue=queue)
    two = client.send_batch([Message(topic, "two"), Message(topic, "three")], queue=queue)
    run.note(
        f"sent: {one.status.name} at {one.queue_offset}, {two.status.name} at {two.queue_offset}"
    )
    run.until_stored("broker-b", topic, 3, 1)
    found = client.pull(queue, 0)
    run.note(f"pulled: {found.status.name}, next {found.next_begin_offset}")
    for message in found.messages:
        run.note(f"{message.queue_offset} {message.body!r} {message.tags} {message.keys}")
    ids = [one.msg_id, *two.msg_id.split(",")]
    run.note(f"ids are those given: {[message.msg_id for message in found.messages] == ids}")
    places = [one.offset_msg_id, *two.offset_msg_id.split(",")]
    seen = [client.view_message(place).body for place in places]
    run.note(f"and seen by their places: {seen}")
    run.note(f"at the end: {client.pull(queue, 3).status.name}")
    assert client.pull(queue, 99).status is PullStatus.OFFSET_ILLEGAL
    places_taken = {client.send(Message(topic, "x")).queue for _ in range(4)}
    run.note(f"four sends in turn take {len(places_taken)} queues")
