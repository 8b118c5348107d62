"""What clients of the front have gathered is walked in slices: no turn has all of it."""

from __future__ import annotations

import pytest

from fakemq.clock.slices import SLICE_MS, Steps
from fakemq.events.core import MemberChanged, RequestReceived
from fakemq.events.grpc import HandleRenewed
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.grpc import messages as m
from fakemq.proxy.routes import EXPIRED_MS, Cache
from fakemq.proxy.status import Code
from fakemq.proxy.transactions import EXPIRE_MS, HEARTBEAT_PERIOD_MS
from tests.support.proxy_lab import FrontClient, ProxyLab, handle_of, message, resource
from tests.support.slices import take_turns, work_in_turns

MANY = 20 * SLICE_MS
"""Each takes a step of a millisecond, so that all take some twenty turns."""
TOPICS = [f"tx-{number}" for number in range(MANY)]


@pytest.fixture
def client(lab: ProxyLab) -> FrontClient:
    return lab.client(outside=True)


def transaction_topics(lab: ProxyLab) -> None:
    for topic in TOPICS:
        lab.create_topic(topic, "TRANSACTION", 1)


def heartbeats(lab: ProxyLab) -> int:
    """The heartbeats of the front to its broker."""
    return len(lab.core.journal.find(RequestReceived, code=RequestCode.HEART_BEAT))


def memberships(lab: ProxyLab) -> int:
    return sum(map(len, lab.proxy.clients.snapshot().values()))


# -- clients of many topics -----------------------------------------------------------------------


def test_settings_of_many_topics_of_transactions_lead_to_few_heartbeats(
    lab: ProxyLab, client: FrontClient
) -> None:
    transaction_topics(lab)
    before = heartbeats(lab)
    assert client.produce(*TOPICS).code == Code.OK
    assert memberships(lab) == MANY
    assert heartbeats(lab) - before == -(-MANY // 100)
    lab.core.advance(HEARTBEAT_PERIOD_MS)
    assert heartbeats(lab) - before == 2 * -(-MANY // 100)


def test_heartbeats_of_forgotten_groups_are_not_sent(
    lab: ProxyLab, client: FrontClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    transaction_topics(lab)
    client.produce(*TOPICS)
    work_in_turns(lab.core.clock, monkeypatch)
    lab.proxy.transactions._beat()
    before = heartbeats(lab)
    lab.proxy.transactions.clear()
    take_turns(lab.core.clock)
    assert heartbeats(lab) == before


def test_settings_of_many_topics_are_taken_in_slices(
    lab: ProxyLab, client: FrontClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics = [f"a-topic-with-a-long-name-{number:050}" for number in range(MANY)]
    work_in_turns(lab.core.clock, monkeypatch)
    asked = client.produce(*topics)
    assert memberships(lab) <= SLICE_MS
    assert not asked.answers
    assert take_turns(lab.core.clock) >= 15
    assert asked.code == Code.OK
    assert memberships(lab) == MANY


def test_settings_of_one_stream_are_answered_in_their_order(
    lab: ProxyLab, client: FrontClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics = [f"a-topic-with-a-long-name-{number:050}" for number in range(MANY)]
    work_in_turns(lab.core.clock, monkeypatch)
    asked = client.produce(*topics)
    last = m.Settings(
        client_type=m.ClientType.PRODUCER, publishing=m.Publishing(topics=[resource("last")])
    )
    asked.call.on_message(m.TelemetryCommand(settings=last))
    assert not asked.answers
    take_turns(lab.core.clock)
    counts = [len(one.settings.publishing.topics) for one in asked.answers]
    assert counts == [MANY, 1]
    kept = lab.proxy.settings.raw("c1")
    assert kept is not None
    assert [topic.name for topic in kept.publishing.topics] == ["last"]


def terminate(lab: ProxyLab, client: FrontClient) -> None:
    assert client.ask("NotifyClientTermination", m.NotifyClientTerminationRequest()).code == Code.OK


def test_client_leaves_many_groups_in_slices_and_is_gone_at_once(
    lab: ProxyLab, client: FrontClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.produce(*TOPICS)
    work_in_turns(lab.core.clock, monkeypatch)
    terminate(lab, client)

    def left() -> int:
        return len(lab.core.journal.find(MemberChanged, how="unregistered"))

    assert left() <= SLICE_MS
    assert memberships(lab) == 0
    assert not lab.proxy.clients.has_producers(TOPICS[-1])
    assert take_turns(lab.core.clock) >= 15
    assert left() == MANY


def test_client_that_comes_back_while_it_leaves_is_a_member(
    lab: ProxyLab, client: FrontClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.produce(*TOPICS)
    work_in_turns(lab.core.clock, monkeypatch)
    terminate(lab, client)
    client.produce(TOPICS[-1])
    take_turns(lab.core.clock)
    assert memberships(lab) == 1
    assert lab.proxy.clients.has_producers(TOPICS[-1])
    assert lab.proxy.settings.raw("c1") is not None
    changes = lab.core.journal.find(MemberChanged, group=TOPICS[-1])
    assert [change.how for change in changes] == ["registered", "unregistered", "registered"]


def test_many_silent_clients_have_one_timer(lab: ProxyLab) -> None:
    for number in range(MANY):
        lab.client(f"c{number}", outside=True).consume()
    timers = [one for one in lab.core.clock.timers() if one.kind == "grpc_client_expiry"]
    assert len(timers) == 1
    lab.core.advance(130_000, outside_peers=True)
    assert not lab.proxy.clients.snapshot()
    kinds = {one.kind for one in lab.core.clock.timers()}
    assert "grpc_client_expiry" not in kinds


# -- messages -------------------------------------------------------------------------------------


def receive_many(lab: ProxyLab, client: FrontClient) -> list[str]:
    """Receive messages whose time the front prolongs; return their handles."""
    client.consume(push=True)
    for number in range(MANY):
        client.send(message(id=f"m{number}"))
    handles: list[str] = []
    while len(handles) < MANY:
        handles += [handle_of(one) for one in client.receive(auto_renew=True).received]
    return handles


def renewals(lab: ProxyLab, why: str) -> int:
    return len(lab.core.journal.find(HandleRenewed, why=why))


def test_messages_of_a_client_that_leaves_are_returned_in_slices(
    lab: ProxyLab, client: FrontClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    handles = receive_many(lab, client)
    work_in_turns(lab.core.clock, monkeypatch)
    request = m.NotifyClientTerminationRequest(group=resource("g"))
    assert client.ask("NotifyClientTermination", request).code == Code.OK
    assert renewals(lab, "client left") <= SLICE_MS
    # What is acknowledged meanwhile is not returned.
    assert client.ack(handles[-1], id=f"m{MANY - 1}").code == Code.OK
    assert take_turns(lab.core.clock) >= 15
    assert renewals(lab, "client left") >= MANY - 1
    assert not [*lab.proxy.renewals.client_ids()]


def test_messages_are_renewed_in_slices(
    lab: ProxyLab, client: FrontClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    receive_many(lab, client)
    lab.proxy.clock.cancel(lab.proxy.renewals._timer)
    lab.core.advance(51_000)
    assert renewals(lab, "renewed") == 0
    work_in_turns(lab.core.clock, monkeypatch)
    lab.proxy.renewals._look()
    assert renewals(lab, "renewed") <= SLICE_MS
    lab.proxy.renewals._look()
    assert take_turns(lab.core.clock) >= 15
    assert renewals(lab, "renewed") == MANY, "a second look waits for the end of the first"


def test_look_that_a_reset_drops_before_it_begins_is_not_waited_for(
    lab: ProxyLab, client: FrontClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    work_in_turns(lab.core.clock, monkeypatch)
    other_work: Steps[None] = (None for _ in range(MANY))
    lab.proxy.clock.carry_out(other_work, peer="before it")
    lab.proxy.renewals._look()
    lab.proxy.renewals.clear()
    take_turns(lab.core.clock)
    receive_many(lab, client)
    lab.core.advance(51_000)
    assert renewals(lab, "renewed") == MANY


def test_requests_that_wait_for_a_renewal_continue_in_slices(
    lab: ProxyLab, client: FrontClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.consume(push=True)
    client.send(message())
    (one,) = client.receive(auto_renew=True).received
    lab.core.advance(49_000)
    lab.broker.pause()
    lab.core.advance_to_next("grpc_renew")
    asked = client.ack(*[handle_of(one)] * MANY)
    work_in_turns(lab.core.clock, monkeypatch)
    lab.broker.resume()
    assert not asked.answers
    assert take_turns(lab.core.clock) >= 15
    assert asked.code == Code.OK
    assert len(asked.answer.entries) == MANY


def test_requests_of_a_paused_broker_are_taken_and_lost_in_slices(
    lab: ProxyLab, client: FrontClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    handles = receive_many(lab, client)
    lab.broker.pause()
    asked = [client.ack(handle, id=f"m{number}") for number, handle in enumerate(handles)]

    def done() -> int:
        return sum(bool(one.answers) for one in asked)

    work_in_turns(lab.core.clock, monkeypatch)
    lab.broker.resume()
    assert done() <= SLICE_MS
    lab.broker.kill()
    assert take_turns(lab.core.clock) >= 10
    assert done() == MANY


def test_long_request_of_an_outside_client_has_slices_at_the_broker(
    lab: ProxyLab, client: FrontClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    work_in_turns(lab.core.clock, monkeypatch)
    body = bytes(1_000)
    asked = client.send(*[message(body=body, id=f"m{number}") for number in range(MANY)])
    assert not asked.answers
    assert take_turns(lab.core.clock) >= 30, "twice at the front, and then at the broker"
    assert asked.code == Code.OK
    assert sum(lab.broker.store.max_offset_in_queue("normal", queue) for queue in range(4)) == MANY


@pytest.mark.parametrize("rpc", ["QueryRoute", "QueryAssignment"])
def test_queues_of_a_topic_are_listed_in_slices(
    lab: ProxyLab, client: FrontClient, rpc: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.create_topic("wide", queues=MANY)
    lab.broker.groups.update(SubscriptionGroupConfig(group_name="f", consume_message_orderly=True))
    request = (
        m.QueryRouteRequest(topic=resource("wide"))
        if rpc == "QueryRoute"
        else m.QueryAssignmentRequest(topic=resource("wide"), group=resource("f"))
    )
    work_in_turns(lab.core.clock, monkeypatch)
    asked = client.ask(rpc, request)
    assert not asked.answers
    assert take_turns(lab.core.clock) >= 15
    answer = asked.answer
    queues = answer.message_queues if rpc == "QueryRoute" else answer.assignments
    assert len(queues) == MANY


# -- what the front remembers ---------------------------------------------------------------------


def test_look_for_half_messages_ends_at_the_first_that_is_not_over(lab: ProxyLab) -> None:
    transactions = lab.proxy.transactions
    transactions.add("tx", "early", "broker-a", 1, 1)
    transactions.add("tx", "again", "broker-a", 2, 2)
    lab.core.advance(20_000)
    transactions.add("tx", "again", "broker-a", 3, 3)
    transactions.add("tx", "late", "broker-a", 4, 4)
    lab.core.advance(EXPIRE_MS - 20_000 + 1)
    assert [key[1] for key in transactions._data] == ["again", "late"]
    found = transactions.take("tx", "again")
    assert found is not None
    assert found.log_offset == 3
    assert transactions.take("tx", "again") is None, "the first half message is over"
    lab.core.advance(20_000)
    assert not transactions._data


def test_values_of_a_cache_are_forgotten_in_slices(
    lab: ProxyLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: Cache[int] = Cache(lab.proxy.clock)
    for number in range(MANY):
        names.put(str(number), number)
    lab.core.advance(EXPIRED_MS - 1)
    names.get("0")
    lab.proxy.clock.cancel(names._timer)
    lab.core.advance(1)
    work_in_turns(lab.core.clock, monkeypatch)
    names._expire()
    assert len(names) >= MANY - SLICE_MS
    assert take_turns(lab.core.clock) >= 15
    assert len(names) == 1


def test_clean_stop_ends_calls_that_are_closed_in_slices(
    lab: ProxyLab, client: FrontClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    receive_many(lab, client)
    work_in_turns(lab.core.clock, monkeypatch)
    lab.proxy.stop()
    assert renewals(lab, "client left") == MANY
