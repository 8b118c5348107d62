"""What faults of requests, calls, leases and name servers are to real Java clients."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

import fakemq
from conformance.drivers.java_program import JavaClients
from conformance.live.groups import WAITING
from conformance.targets.java_cluster import wait_until
from conformance.wire.raw import call, frame, split
from fakemq.events import LinkClosed, MemberChanged, QueuesLocked
from fakemq.handles.brokers import BrokerHandle
from fakemq.protocol.codes import RequestCode

# Seconds, not milliseconds: a JVM for the whole file, and clients that wait for real time-outs.
pytestmark = [pytest.mark.slow, WAITING]

SEND = RequestCode.SEND_MESSAGE_V2
TOPICS = ("Answers", "Lost", "Halves", "Asked", "Noticed", "Listed", "Locked", "Expired", "Called")
PATIENT_MS, HASTY_MS = 60_000, 3_000


@pytest.fixture(scope="module")
def cluster() -> Iterator[fakemq.Cluster]:
    topics = dict.fromkeys(TOPICS, 2)
    with fakemq.Cluster(namesrvs=3, masters=2, clock="frozen", topics=topics) as mq:
        yield mq


@pytest.fixture(scope="module")
def java_clients(java: None, cluster: fakemq.Cluster) -> Iterator[JavaClients]:
    with JavaClients() as clients:
        addr = cluster.namesrv_addr
        for name, timeout_ms, retries in (
            ("patient", PATIENT_MS, 0),
            ("again", PATIENT_MS, 2),
            ("hasty", HASTY_MS, 0),
            ("hasty2", HASTY_MS, 0),
        ):
            assert clients.do("producer", name, addr, timeout_ms, retries) == "made"
        for number, server in enumerate(cluster.name_servers):
            assert clients.do("admin", f"ask{number}", server.addr, PATIENT_MS) == "made"
        yield clients


@pytest.fixture
def mq(cluster: fakemq.Cluster) -> Iterator[fakemq.Cluster]:
    yield cluster
    unused = cluster.faults.unused()
    cluster.faults.clear()
    assert unused == []


def bodies(mq: fakemq.Cluster, topic: str) -> list[str]:
    return [message.body.decode() for message in mq.messages(topic)]


# -- requests ---------------------------------------------------------------------------------


def test_answers_are_replaced_by_errors_and_other_fields(
    mq: fakemq.Cluster, java_clients: JavaClients
) -> None:
    clients, faults = java_clients, mq.faults
    faults.error(SEND, topic="Answers", code="MESSAGE_ILLEGAL", remark="no")
    assert clients.do("send", "patient", "Answers", "refused") == "!MQBrokerException 13"
    busy = faults.error(SEND, topic="Answers", code="NO_PERMISSION", times=2)
    assert clients.do("send", "again", "Answers", "at-last").startswith("SEND_OK")
    assert busy.fired == 2  # it has tried again by itself
    faults.error(SEND, topic="Answers", code="MESSAGE_ILLEGAL", at="before_reply")
    assert clients.do("send", "patient", "Answers", "stored") == "!MQBrokerException 13"
    faults.reply(SEND, topic="Answers", fields={"queueOffset": 4242}, at="before_reply")
    assert clients.do("send", "patient", "Answers", "moved").endswith(" 4242")
    assert sorted(bodies(mq, "Answers")) == ["at-last", "moved", "stored"]
    faults.error(SEND, topic="Answers", code="SYSTEM_ERROR", at="before_reply")
    assert clients.do("send", "again", "Answers", "twice").startswith("SEND_OK")
    assert bodies(mq, "Answers").count("twice") == 2


def test_requests_are_handled_twice(mq: fakemq.Cluster, java_clients: JavaClients) -> None:
    fault = mq.faults.duplicate(SEND, topic="Answers")
    assert java_clients.do("send", "patient", "Answers", "double").startswith("SEND_OK")
    assert java_clients.do("send", "patient", "Answers", "single").startswith("SEND_OK")
    assert fault.fired == 1
    stored = bodies(mq, "Answers")
    assert (stored.count("double"), stored.count("single")) == (2, 1)


def test_answers_come_late(mq: fakemq.Cluster, java_clients: JavaClients) -> None:
    clients, faults = java_clients, mq.faults
    delayed = faults.delay(SEND, "1h", topic="Answers")
    tag = clients.begin("send", "patient", "Answers", "delayed")
    mq.wait_for(lambda: delayed.used, "75s")
    gates = []
    tags = []
    for at in ("before_store", "before_reply"):
        gates.append(faults.park(SEND, topic="Answers", at=at))
        tags.append(clients.begin("send", "patient", "Answers", f"parked-{at}"))
        mq.wait_for(lambda: gates[-1].waiting == 1, "75s")
    assert not any(map(clients.ended, [tag, *tags]))
    stored = bodies(mq, "Answers")
    assert "parked-before_reply" in stored
    assert not {"parked-before_store", "delayed"} & {*stored}
    for gate in gates:
        gate.release()
    for tag_of in tags:
        assert clients.result(tag_of).startswith("SEND_OK")
    assert not clients.ended(tag)
    mq.clock.advance("1h")
    assert clients.result(tag).startswith("SEND_OK")


# A Java client waits 3 s for an answer before it calls it lost.
def test_requests_and_answers_are_lost(mq: fakemq.Cluster, java_clients: JavaClients) -> None:
    clients, faults = java_clients, mq.faults
    faults.drop(SEND, node="broker-a", topic="Lost", queue=0)
    faults.drop(SEND, node="broker-a", topic="Lost", queue=1, at="before_reply")
    tags = [
        clients.begin("send", "hasty", "Lost", f"{how}-lost", "broker-a", queue)
        for queue, how in enumerate(("all", "answer"))
    ]
    # A Java client does not heed that a connection is closed, either, and waits nevertheless.
    faults.close(SEND, node="broker-b", topic="Lost", queue=0)
    faults.close(SEND, node="broker-b", topic="Lost", queue=1, at="before_reply")
    tags += [
        clients.begin("send", name, "Lost", f"{how}-closed", "broker-b", queue)
        for queue, (how, name) in enumerate((("all", "hasty"), ("answer", "hasty2")))
    ]
    for tag in tags:
        assert clients.result(tag).startswith("!Remoting")
    assert sorted(bodies(mq, "Lost")) == ["answer-closed", "answer-lost"]
    assert len(mq.journal.find(LinkClosed, node="broker-b-0", why="a fault")) == 2


def test_acknowledged_message_is_lost_for_certain(java_clients: JavaClients) -> None:
    clients = java_clients
    with fakemq.Cluster(slaves=1, clock="frozen", topics={"Gone": 1}) as mq:
        addr = mq.namesrv_addr
        assert clients.do("producer", "doomed", addr, PATIENT_MS, 0) == "made"
        assert clients.do("send", "doomed", "Gone", "kept").startswith("SEND_OK")
        mq.clock.advance("1s")  # the slave has it
        mq.faults.kill(SEND, topic="Gone", at="before_replicate")
        assert clients.do("send", "doomed", "Gone", "gone") == "SEND_OK broker-a 0 1"
        assert mq.broker("broker-a-0").state == "stopped"
        mq.clock.advance("1m")
        assert bodies(mq, "Gone") == ["kept"]
        assert clients.do("consumer", "reader", addr, "GReader", "Gone", "concurrently")
        clients.wait_received("reader", "kept")  # from the slave
        assert ("reader", "gone") not in clients.received


# -- calls ------------------------------------------------------------------------------------


def test_checks_of_transactions_are_dropped_and_duplicated(
    mq: fakemq.Cluster, java_clients: JavaClients
) -> None:
    clients, faults = java_clients, mq.faults
    assert clients.do("producer", "unsure", mq.namesrv_addr, PATIENT_MS, 2) == "made"
    lost = faults.drop_call("CHECK_TRANSACTION_STATE", topic="Halves", group="Gunsure")
    assert clients.do("transact", "unsure", "Halves", "half").startswith("SEND_OK")
    assert mq.run_until(lambda: lost.used, at_most="5m")
    assert clients.checked == []
    twice = faults.duplicate_call(39, topic="Halves")
    assert mq.run_until(lambda: twice.used, at_most="5m")
    clients.wait_for(lambda: clients.checked.count("half") >= 2, "two checks")
    # It commits twice, and the broker does not heed that.
    mq.wait_for(lambda: bodies(mq, "Halves") == ["half", "half"], "75s")


def test_replies_are_reordered_duplicated_and_dropped(
    mq: fakemq.Cluster, java_clients: JavaClients
) -> None:
    clients, faults, addr = java_clients, mq.faults, mq.namesrv_addr
    for name in ("asker", "replier"):
        assert clients.do("producer", name, addr, PATIENT_MS, 0) == "made"
    replying = ("consumer", "server", addr, "GServer", "Asked", "replying", "replier")
    assert not clients.do(*replying).startswith("!")
    turned = faults.reorder_calls("PUSH_REPLY_MESSAGE_TO_CLIENT", 2)
    first = clients.begin("request", "asker", "Asked", "q1", PATIENT_MS)
    mq.wait_for(lambda: turned.waiting == 1, "75s")
    second = clients.begin("request", "asker", "Asked", "q2", PATIENT_MS)
    assert {clients.result(first), clients.result(second)} == {"re-q1", "re-q2"}
    faults.duplicate_call(326)
    assert clients.do("request", "asker", "Asked", "q3", PATIENT_MS) == "re-q3"
    lost = faults.drop_call(326)
    assert "Timeout" in clients.do("request", "asker", "Asked", "q4", HASTY_MS)
    assert lost.used


def test_notices_of_members_are_dropped_and_duplicated(
    mq: fakemq.Cluster, java_clients: JavaClients
) -> None:
    clients, addr = java_clients, mq.namesrv_addr
    consumer = ("GNoticed", "Noticed", "concurrently")
    clients.do("consumer", "member1", addr, *consumer)
    clients.wait_for(lambda: holds(clients, "member1", "Noticed", 4), "all queues")
    lost = mq.faults.drop_call("NOTIFY_CONSUMER_IDS_CHANGED", client="member1", always=True)
    clients.do("consumer", "member2", addr, *consumer)
    clients.wait_for(lambda: holds(clients, "member2", "Noticed", 2), "half of them")
    assert holds(clients, "member1", "Noticed", 4)  # it got no notice
    assert lost.used
    lost.remove()
    mq.faults.duplicate_call(40, client="member1", must_fire=False)
    clients.do("consumer", "member3", addr, *consumer)
    clients.wait_for(lambda: not holds(clients, "member1", "Noticed", 4), "what is left to it")


def holds(clients: JavaClients, name: str, topic: str, count: int) -> bool:
    return len(clients.do("assigned", name, topic).split()) == 1 + count


# The client pauses for 10 s when its offsets are reset.
def test_calls_of_admins_to_consumers_are_dropped_duplicated_and_delayed(
    mq: fakemq.Cluster, java_clients: JavaClients
) -> None:
    clients, faults, addr = java_clients, mq.faults, mq.namesrv_addr
    for name, timeout_ms in (("chief", PATIENT_MS), ("brief", 700)):
        clients.do("admin", name, addr, timeout_ms)
    client = clients.do("consumer", "asked", addr, "GCalled", "Called", "concurrently")
    assert clients.do("send", "patient", "Called", "m1").startswith("SEND_OK")
    clients.wait_received("asked", "m1")
    for code, what, *about in (
        ("GET_CONSUMER_RUNNING_INFO", "running", "GCalled", client),
        ("GET_CONSUMER_STATUS_FROM_CLIENT", "status", "Called", "GCalled", client),
    ):
        assert not clients.do(what, "chief", *about).startswith("!"), code
        lost = faults.drop_call(code, group="GCalled", always=True)
        assert clients.do(what, "brief", *about).startswith("!"), code
        assert lost.used
        lost.remove()

    times = clients.received.count(("asked", "m1"))
    faults.duplicate_call("CONSUME_MESSAGE_DIRECTLY", group="GCalled")
    message = mq.messages("Called")[0].msg_id
    assert clients.do("direct", "chief", "GCalled", client, "Called", message) == "CR_SUCCESS"
    clients.wait_received("asked", "m1", times + 2)

    times = clients.received.count(("asked", "m1"))
    for broker in mq.brokers:
        for queue in range(2):
            commit(broker, "GCalled", "Called", queue)
    late = faults.delay_call("RESET_CONSUMER_CLIENT_OFFSET", "1h", group="GCalled", times=2)
    assert clients.do("reset", "chief", "Called", "GCalled") == "of 4"
    assert (late.fired, clients.received.count(("asked", "m1"))) == (2, times)
    mq.clock.advance("1h")
    clients.wait_received("asked", "m1", times + 1)


def commit(broker: BrokerHandle, group: str, topic: str, queue: int) -> None:
    fields = {
        "consumerGroup": group,
        "topic": topic,
        "queueId": str(queue),
        "commitOffset": "1",
    }
    call(broker.addr, frame(RequestCode.UPDATE_CONSUMER_OFFSET, fields))


# -- lists and leases -------------------------------------------------------------------------


def test_two_consumers_hold_the_same_queues(mq: fakemq.Cluster, java_clients: JavaClients) -> None:
    clients, addr = java_clients, mq.namesrv_addr
    for name, other in (("twin1", "twin2"), ("twin2", "twin1")):
        # The first notice may reach either: a list without the other may never differ.
        mq.faults.consumer_list("GListed", client=name, hide=[other], must_fire=False)
        clients.do("consumer", name, addr, "GListed", "Listed", "concurrently")
    for name in ("twin1", "twin2"):
        clients.wait_for(lambda name=name: holds(clients, name, "Listed", 4), "all queues")  # type: ignore[misc]
    assert len(mq.group("GListed").members()) == 2
    assert clients.do("send", "patient", "Listed", "both").startswith("SEND_OK")
    clients.wait_received("twin1", "both")
    clients.wait_received("twin2", "both")
    assert any(fault.used for fault in mq.faults.all())


def test_lock_is_lost_to_another(mq: fakemq.Cluster, java_clients: JavaClients) -> None:
    clients, addr = java_clients, mq.namesrv_addr
    client = clients.do("consumer", "locker", addr, "GLocked", "Locked", "orderly")
    clients.do("send", "patient", "Locked", "first", "broker-a", 0)
    clients.wait_received("locker", "first")
    broker = mq.broker("broker-a").addr
    mq.faults.expire_locks("GLocked", node="broker-a", queue=0)
    while not thief_locks(broker, 41):  # its owner may be quicker, and take it again
        mq.faults.expire_locks("GLocked", node="broker-a", queue=0)
    seen = len(renewed(mq, client))
    mq.wait_for(lambda: len(renewed(mq, client)) >= seen + 3, "75s")  # it knows of its loss
    clients.do("send", "patient", "Locked", "withheld", "broker-a", 0)
    clients.do("send", "patient", "Locked", "open", "broker-a", 1)
    clients.wait_received("locker", "open")
    assert ("locker", "withheld") not in clients.received
    thief_locks(broker, 42)
    clients.wait_received("locker", "withheld")


def thief_locks(addr: str, code: int) -> bool:
    """Lock (41) or unlock (42) the first queue for another client; whether that holds it now."""
    queue = {"topic": "Locked", "brokerName": "broker-a", "queueId": 0}
    body = {"clientId": "thief", "consumerGroup": "GLocked", "mqSet": [queue]}
    _, _, answer = split(call(addr, frame(code, {}, json.dumps(body).encode())))
    return bool(answer) and json.loads(answer)["lockOKMQSet"] == [queue]


def renewed(mq: fakemq.Cluster, client: str) -> list[QueuesLocked]:
    return mq.journal.find(QueuesLocked, node="broker-a-0", client_id=client, how="locked")


def test_expired_client_leaves_its_group_and_comes_back(
    mq: fakemq.Cluster, java_clients: JavaClients
) -> None:
    clients, addr = java_clients, mq.namesrv_addr
    client = clients.do("consumer", "silent", addr, "GExpired", "Expired", "concurrently")
    clients.do("send", "patient", "Expired", "before", "broker-a", 0)
    clients.wait_received("silent", "before")
    mq.faults.expire_client(client, node="broker-a")
    [gone] = mq.journal.find(MemberChanged, group="GExpired", how="expired")
    assert (gone.node, gone.client_id) == ("broker-a-0", client)
    assert mq.journal.find(LinkClosed, node="broker-a-0", why="no heartbeat for 120 s")

    def registered_again() -> bool:
        # A heartbeat over the old connection is lost, until the client has seen that one closed.
        assert clients.do("beat", "silent") == "beaten"
        joined = mq.journal.find(
            MemberChanged, group="GExpired", node="broker-a-0", how="registered"
        )
        return len(joined) == 2

    # It comes back over another connection, where it is a member from a next heartbeat on.
    wait_until(registered_again, 75)


# -- name servers -----------------------------------------------------------------------------


def brokers_of(clients: JavaClients, number: int, topic: str = "Answers") -> list[str]:
    """Return what a name server shows a Java client: ``broker-a=2``, …"""
    route = clients.do("route", f"ask{number}", topic)
    return [] if route.startswith("!") else [one.split("@")[0] for one in route.split()]


def test_each_name_server_has_its_own_view(mq: fakemq.Cluster, java_clients: JavaClients) -> None:
    clients, faults = java_clients, mq.faults
    both = ["broker-a=2", "broker-b=2"]
    assert [brokers_of(clients, number) for number in range(3)] == [both] * 3
    with faults.hide_broker("broker-b", namesrv=1):
        assert [brokers_of(clients, n) for n in (0, 1)] == [both, ["broker-a=2"]]
    with faults.hide_topic("Answers", namesrv=2):
        assert [brokers_of(clients, n) for n in (1, 2)] == [both, []]
    with faults.show_queues("Answers", 1, namesrv=0, broker="broker-a"):
        assert brokers_of(clients, 0) == ["broker-a=1", "broker-b=2"]
    with faults.show_addr("broker-a", "127.0.0.1:1", namesrv=0):
        assert "broker-a=2@127.0.0.1:1 " in clients.do("route", "ask0", "Answers")
    with faults.stale_routes(namesrv=0), faults.lag_registrations("1m", namesrv=1):
        mq.create_topic("New", 1)
        new = ["broker-a=1", "broker-b=1"]
        assert [brokers_of(clients, n, "New") for n in range(3)] == [[], [], new]
        mq.clock.advance("1m")
        assert [brokers_of(clients, n, "New") for n in range(3)] == [[], new, new]
    assert brokers_of(clients, 0, "New") == new


def test_brokers_are_forgotten_and_silent(mq: fakemq.Cluster, java_clients: JavaClients) -> None:
    clients, faults = java_clients, mq.faults
    both = ["broker-a=2", "broker-b=2"]
    faults.expire_broker("broker-a", namesrv=0)
    assert [brokers_of(clients, n) for n in (0, 1)] == [["broker-b=2"], both]
    mq.clock.advance("30s")
    assert brokers_of(clients, 0) == both
    with faults.silence("broker-b", namesrv=1):
        mq.clock.advance("131s")
        assert [brokers_of(clients, n) for n in (0, 1)] == [both, ["broker-a=2"]]
    mq.clock.advance("30s")
    assert brokers_of(clients, 1) == both


def test_clients_continue_with_one_of_three_name_servers(
    mq: fakemq.Cluster, java_clients: JavaClients
) -> None:
    clients = java_clients
    for number in (0, 1):
        mq.name_server(number).kill()
    assert clients.do("producer", "late", mq.namesrv_addr, PATIENT_MS, 2) == "made"
    assert clients.do("send", "late", "Answers", "by-the-last").startswith("SEND_OK")
    assert brokers_of(clients, 0) == []
    for number in (0, 1):
        mq.name_server(number).restart()
    mq.clock.advance("30s")
    assert brokers_of(clients, 0) == ["broker-a=2", "broker-b=2"]
