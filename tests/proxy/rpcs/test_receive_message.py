"""ReceiveMessage: what is received, when the call ends, and what is lost: nothing."""

# Over 400 lines: every way that one call ends, over one scripted client.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fakemq.dispatch.faults import Delay
from fakemq.events.pop import Popped
from fakemq.faults.plan import ONCE, Scope
from fakemq.faults.points import BEFORE_REPLY
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.grpc import messages as m
from fakemq.protocol.grpc.status import GrpcStatus
from fakemq.protocol.message import decode_records
from fakemq.protocol.properties import POP_CK
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.proxy import consuming
from tests.support.proxy_lab import Asked, FrontClient, ProxyLab, handle_of, message

if TYPE_CHECKING:
    from fakemq.protocol.message import MessageExt

START_S = 1_767_225_600


@pytest.fixture
def client(lab: ProxyLab) -> FrontClient:
    """A simple consumer of group ``g``."""
    client = lab.client()
    client.consume()
    return client


def ids(received: list[Any]) -> list[str]:
    return [one.system_properties.message_id for one in received]


def test_message_comes_with_its_properties(client: FrontClient) -> None:
    client.send(
        message(
            tag="t",
            keys=["a", "", "b"],
            user={"colour": "red"},
            trace_context="tc",
            born_host="over there",
        )
    )
    asked = client.receive()
    kinds = [one.WhichOneof("content") for one in asked.answers]
    assert kinds == ["status", "message", "delivery_timestamp"]
    assert asked.status is GrpcStatus.OK
    (one,) = asked.received
    assert (one.topic.name, one.body, dict(one.user_properties)) == (
        *("normal", b"x"),
        {"colour": "red", "TRACE_CONTEXT": "tc"},
    )
    system = one.system_properties
    assert (system.tag, [*system.keys], system.message_id) == ("t", ["a", "", "b"], "m1")
    assert system.body_digest.checksum == "9DD4E461268C8034F5C8564E155C67A6"
    assert (system.body_encoding, system.message_type) == (1, 1)
    assert system.born_timestamp == m.Timestamp()
    assert (system.born_host, system.store_host) == ("over there", "127.0.0.1:20000")
    assert system.store_timestamp.seconds == START_S
    assert (system.queue_offset, system.delivery_attempt, system.trace_context) == (0, 1, "tc")
    assert handle_of(one) == f"0 {START_S}000 30000 0 0 broker-a {system.queue_id} 0 0"
    assert not system.HasField("delivery_timestamp")
    assert not system.HasField("priority")


@pytest.mark.parametrize(
    ("sent", "kind", "field"),
    [
        (message("fifo", message_group="g"), 2, ("message_group", "g")),
        (
            message("delay", delivery_timestamp=m.Timestamp(seconds=START_S - 5)),
            3,
            ("delivery_timestamp", m.Timestamp(seconds=START_S - 5)),
        ),
        (message("prio", priority=3), 6, ("priority", 3)),
    ],
)
def test_types_of_messages(
    client: FrontClient, sent: Any, kind: int, field: tuple[str, Any]
) -> None:
    client.send(sent)
    (one,) = client.receive(sent.topic.name).received
    assert one.system_properties.message_type == kind
    name, value = field
    assert getattr(one.system_properties, name) == value


def test_first_pop_does_not_count_as_attempt_and_the_second_does(
    lab: ProxyLab, client: FrontClient
) -> None:
    client.send(message())
    client.receive(invisible_s=10)
    again = client.receive(invisible_s=10)
    assert not again.answers
    lab.core.advance(15_000)
    (one,) = again.received
    assert one.system_properties.delivery_attempt == 2
    assert one.topic.name == "normal"
    assert handle_of(one).split(" ")[4] == "1"  # it comes from the retry topic


def test_held_receive_ends_with_the_time_it_waits(lab: ProxyLab, client: FrontClient) -> None:
    asked = client.receive(long_polling_timeout=m.Duration(seconds=7))
    lab.core.advance(6_000)
    assert not asked.answers
    lab.core.advance(1_000)
    assert (asked.code, asked.message) == (40401, "no new message")
    assert [one.WhichOneof("content") for one in asked.answers] == ["status", "delivery_timestamp"]


@pytest.mark.parametrize(
    ("asked_s", "deadline_ms", "held_ms"),
    [(1, 30_000, 5_000), (60, 60_000, 20_000), (None, 15_000, 13_500), (20, 8_000, 8_000)],
)
def test_time_of_a_held_receive(
    lab: ProxyLab, client: FrontClient, asked_s: int | None, deadline_ms: int, held_ms: int
) -> None:
    fields: dict[str, Any] = (
        {} if asked_s is None else {"long_polling_timeout": m.Duration(seconds=asked_s)}
    )
    asked = client.receive(timeout_ms=deadline_ms, **fields)
    lab.core.advance(held_ms - 60)
    assert not asked.answers
    lab.core.advance(60)
    assert asked.code == 40401


def test_arrival_wakes_a_held_receive(client: FrontClient) -> None:
    asked = client.receive()
    client.send(message())
    assert ids(asked.received) == ["m1"]


def test_receive_that_was_given_up_takes_no_message(lab: ProxyLab, client: FrontClient) -> None:
    given_up = client.receive()
    given_up.cancel()
    client.send(message())
    other = lab.client("c2")
    other.consume()
    (one,) = other.receive().received
    assert one.system_properties.delivery_attempt == 1


def test_closed_connection_drops_its_held_receives(lab: ProxyLab, client: FrontClient) -> None:
    client.receive()
    lab.proxy.calls.connection_closed(client.connection, "test")
    client.send(message())
    other = lab.client("other")
    other.consume()
    assert ids(other.receive().received) == ["m1"]


def test_messages_that_the_caller_does_not_read_come_again_after_a_second(
    lab: ProxyLab, client: FrontClient
) -> None:
    for number in range(3):
        client.send(message("prio", priority=0, id=f"m{number}"))
    lab.broker.pause()
    asked = client.receive("prio")
    asked.blocked = True
    lab.broker.resume()
    assert len(asked.answers) == 1  # its status only
    asked.cancel()
    other = lab.client("c2")
    other.consume()
    lab.core.advance(5_000)
    again = other.receive("prio").received
    assert ids(again) == ["m0", "m1", "m2"]
    assert {one.system_properties.delivery_attempt for one in again} == {1}


def test_slow_reader_gets_all_messages(client: FrontClient) -> None:
    for number in range(3):
        client.send(message("prio", priority=0, id=f"m{number}"))
    asked = client.receive("prio")
    assert len(asked.received) == 3
    held = client.receive("prio")
    held.blocked = True
    client.send(message("prio", priority=0, id="m3"))
    assert not held.received
    held.blocked = False
    held.call.on_drained()
    assert ids(held.received) == ["m3"]
    assert held.status is GrpcStatus.OK


def test_answer_to_a_caller_that_has_gone_is_given_back(lab: ProxyLab, client: FrontClient) -> None:
    client.send(message())
    lab.broker.pause()
    asked = client.receive()
    asked.call.closed = True  # without the broker knowing
    lab.broker.resume()
    assert not asked.answers
    other = lab.client("c2")
    other.consume()
    again = other.receive()
    lab.core.advance(5_000)
    assert [one.system_properties.delivery_attempt for one in again.received] == [1]


# -- filters ----------------------------------------------------------------------------------


def test_tags_choose_messages(client: FrontClient) -> None:
    client.send(message(tag="a", id="m1"))
    client.send(message(tag="b", id="m2"))
    tags = m.FilterExpression(type=m.FilterType.TAG, expression="b || c")
    assert ids(client.receive(filter_expression=tags).received) == ["m2"]


def test_message_whose_tag_has_the_hash_of_another_is_acknowledged(client: FrontClient) -> None:
    client.send(message(tag="Aa"))  # String.hashCode of Aa and BB is the same
    tags = m.FilterExpression(type=m.FilterType.TAG, expression="BB")
    asked = client.receive(filter_expression=tags)
    assert (asked.code, asked.message) == (40401, "no match message")


def test_sql_chooses_messages(client: FrontClient) -> None:
    client.send(message(user={"a": "1"}, id="m1"))
    client.send(message(user={"a": "9"}, id="m2"))
    sql = m.FilterExpression(type=m.FilterType.SQL, expression="a > 5")
    assert ids(client.receive(filter_expression=sql).received) == ["m2"]


# -- order, attempts --------------------------------------------------------------------------


def ordered(lab: ProxyLab, **fields: Any) -> None:
    lab.broker.groups.update(
        SubscriptionGroupConfig(group_name="fifo", consume_message_orderly=True, **fields)
    )


def test_queue_of_a_fifo_group_waits_for_the_acknowledgement(lab: ProxyLab) -> None:
    ordered(lab)
    client = lab.client()
    client.consume("fifo", "fifo")
    for number in range(2):
        client.send(message("fifo", message_group="g", id=f"m{number}"))
    (first,) = client.receive("fifo", "fifo", most=1).received
    second = client.receive("fifo", "fifo", most=1)
    assert not second.answers
    client.ack(handle_of(first), topic="fifo", group="fifo")
    assert ids(second.received) == ["m1"]


def test_order_of_a_group_stays_known_while_its_broker_is_paused(lab: ProxyLab) -> None:
    ordered(lab)
    client = lab.client()
    client.consume("fifo", "fifo")
    client.receive("fifo", "fifo").cancel()
    lab.broker.pause()
    asked = client.receive("fifo", "fifo", timeout_ms=60_000)
    lab.broker.resume()
    client.send(message("fifo", message_group="g"))
    assert ids(asked.received) == ["m1"]
    assert [one.in_order for one in lab.core.journal.find(Popped)] == [True]


def test_same_attempt_gets_the_same_messages(lab: ProxyLab) -> None:
    ordered(lab)
    client = lab.client()
    client.consume("fifo", "fifo")
    client.send(message("fifo", message_group="g"))
    first = client.receive("fifo", "fifo", attempt_id="a")
    again = client.receive("fifo", "fifo", attempt_id="a")
    assert ids(first.received) == ids(again.received) == ["m1"]


def test_attempts_of_a_fifo_group_are_counted(lab: ProxyLab) -> None:
    ordered(lab)
    client = lab.client()
    client.consume("fifo", "fifo")
    client.send(message("fifo", message_group="g"))
    client.receive("fifo", "fifo", invisible_s=10)
    lab.core.advance(11_000)
    (again,) = client.receive("fifo", "fifo", invisible_s=10).received
    assert again.system_properties.delivery_attempt == 2


def test_message_that_was_tried_too_often_goes_to_the_dlq(lab: ProxyLab) -> None:
    lab.broker.groups.update(SubscriptionGroupConfig(group_name="g", retry_max_times=0))
    client = lab.client()
    client.consume()
    client.send(message())
    client.receive(invisible_s=10)
    lab.core.advance(15_000)
    asked = client.receive(invisible_s=10)
    assert (asked.code, asked.message) == (40401, "no match message")
    assert lab.broker.store.max_offset_in_queue("%DLQ%g", 0) == 1
    lab.core.advance(30_000)
    assert lab.broker.store.max_offset_in_queue("%DLQ%g", 0) == 1  # it was acknowledged


def test_dead_letter_can_be_received(lab: ProxyLab) -> None:
    client = lab.client()
    client.consume()
    client.send(message())
    (one,) = client.receive().received
    request = m.ForwardMessageToDeadLetterQueueRequest(
        topic=one.topic,
        group=m.Resource(name="g"),
        receipt_handle=handle_of(one),
        message_id="m1",
    )
    asked = client.ask("ForwardMessageToDeadLetterQueue", request)
    assert (asked.code, asked.message) == (20000, "0")
    lab.core.advance(31_000)  # until the name servers know the topic
    (dead,) = client.receive("%DLQ%g", "other").received
    assert dead.system_properties.message_id == "m1"


# -- refusals ---------------------------------------------------------------------------------

_PLACE = (
    "org.apache.rocketmq.proxy.grpc.v2.consumer.ReceiveMessageActivity"
    ".receiveMessage(ReceiveMessageActivity.java:"
)


def test_client_without_settings_is_refused(lab: ProxyLab) -> None:
    asked = lab.client().receive()
    assert asked.code == 50001
    assert asked.message == (
        'Cannot invoke "apache.rocketmq.v2.Settings.getClientType()" because "settings" is null.'
        f" NullPointerException. {_PLACE}68)"
    )
    assert [one.WhichOneof("content") for one in asked.answers] == ["status", "delivery_timestamp"]


@pytest.mark.parametrize(("fields", "line"), [({}, 80), ({"long_polling_timeout": 5}, 89)])
def test_call_without_a_deadline_is_refused(
    client: FrontClient, fields: dict[str, int], line: int
) -> None:
    times: dict[str, Any] = {name: m.Duration(seconds=seconds) for name, seconds in fields.items()}
    asked = client.receive(timeout_ms=None, **times)
    assert asked.message == (
        'Cannot invoke "java.lang.Long.longValue()" because "timeRemaining" is null.'
        f" NullPointerException. {_PLACE}{line})"
    )


@pytest.mark.parametrize(("version", "code"), [("5.1.2", 40018), ("5.0.2", 40000), ("", 40000)])
def test_short_deadline_is_refused(lab: ProxyLab, version: str, code: int) -> None:
    client = lab.client(client_version=version)
    client.consume()
    asked = client.receive(timeout_ms=4_999)
    assert (asked.code, asked.message) == (
        code,
        "The deadline time remaining is not enough for polling, please check network condition",
    )


_TAG, _SQL = m.FilterType.TAG, m.FilterType.SQL


@pytest.mark.parametrize(
    ("fields", "code", "text"),
    [
        ({"topic": ""}, 40002, "The specified topic is blank"),
        ({"group": ""}, 40003, "the specified group is blank"),
        ({"invisible_s": 9}, 40011, "the invisibleTime is too small. min is 10000"),
        ({"invisible_s": 43_201}, 40011, "the invisibleTime is too large. max is 43200000"),
        (
            {"filter_expression": m.FilterExpression(type=_TAG, expression="||")},
            40010,
            "subString split error",
        ),
        (
            {"filter_expression": m.FilterExpression(type=_SQL)},
            40010,
            "Expression can't be null! SQL92",
        ),
        (
            {"filter_expression": m.FilterExpression(type=_SQL, expression="a >")},
            50001,
            "parse the consumer's subscription failed",
        ),
        (
            {"most": -1},
            50001,
            (
                "java.lang.IllegalArgumentException: Illegal Capacity: -1,"
                " java.base/java.util.ArrayList.<init>(ArrayList.java:160)"
            ),
        ),
    ],
)
def test_wrong_requests_are_refused(
    client: FrontClient, fields: dict[str, Any], code: int, text: str
) -> None:
    asked = client.receive(**fields)
    assert (asked.code, asked.message) == (code, text)


def test_topic_that_cannot_be_read_is_refused(lab: ProxyLab, client: FrontClient) -> None:
    lab.create_topic("wonly", perm=2)
    asked = client.receive("wonly")
    assert asked.code == 40300
    assert asked.message == "org.apache.rocketmq.proxy.common.ProxyException: no readable queue"


def test_killed_broker_refuses_the_connection(lab: ProxyLab, client: FrontClient) -> None:
    held = client.receive()
    lab.broker.kill()
    assert held.code == 50001
    asked = client.receive()
    assert asked.message.startswith("connect to 127.0.0.1:20000 failed. RemotingConnectException.")


# -- renewed handles --------------------------------------------------------------------------


@pytest.fixture
def push(lab: ProxyLab) -> FrontClient:
    """A push consumer of group ``g``."""
    client = lab.client("push")
    client.consume(push=True)
    return client


def test_message_of_a_push_consumer_stays_invisible(lab: ProxyLab, push: FrontClient) -> None:
    push.send(message())
    (one,) = push.receive(auto_renew=True).received
    assert handle_of(one).split(" ")[2] == "60000"
    other = lab.client("other", outside=True)
    other.consume()
    for _ in range(9):
        push.ask("Heartbeat", m.HeartbeatRequest(group=m.Resource(name="g")))
        lab.core.advance(100_000)
    again = other.receive()
    lab.core.advance(1_000)
    assert not again.answers
    assert push.ack(handle_of(one)).code == 20000  # the first handle, whose time is long over
    lab.core.advance(4_000_000)
    assert not again.received


def test_renewal_has_a_named_deadline(lab: ProxyLab, push: FrontClient) -> None:
    push.send(message())
    push.receive(auto_renew=True)
    before_ms = lab.core.clock.now_ms()
    lab.core.advance_to_next("grpc_renew")
    assert lab.core.clock.now_ms() - before_ms == 50_000


def test_messages_of_a_client_that_leaves_come_again_after_a_second(
    lab: ProxyLab, push: FrontClient
) -> None:
    push.send(message())
    push.receive(auto_renew=True)
    request = m.NotifyClientTerminationRequest(group=m.Resource(name="g"))
    push.ask("NotifyClientTermination", request)
    other = lab.client("other")
    other.consume()
    again = other.receive()
    lab.core.advance(5_000)
    assert ids(again.received) == ["m1"]


def test_renewals_end_after_three_hours(lab: ProxyLab) -> None:
    client = lab.client("push", outside=True)  # in real time, it stays alive
    client.consume(push=True)
    client.send(message())
    client.receive(auto_renew=True)
    lab.core.advance(3 * 3_600_000)
    assert [*lab.proxy.renewals.client_ids()] == ["push"]
    lab.core.advance(3_600_000)
    assert not [*lab.proxy.renewals.client_ids()]
    other = lab.client("other")
    other.consume()
    again = other.receive()
    lab.core.advance(15_000)
    assert ids(again.received) == ["m1"]


def slow_answer(lab: ProxyLab, push: FrontClient) -> Asked:
    """The call of a push consumer that does not read the message of its answer."""
    push.send(message())
    lab.broker.pause()
    asked = push.receive(auto_renew=True)
    asked.blocked = True
    lab.broker.resume()
    assert len(asked.answers) == 1  # its status only
    return asked


def test_message_that_a_slow_push_consumer_has_not_read_stays_invisible(lab: ProxyLab) -> None:
    push = lab.client("push", outside=True)
    push.consume(push=True)
    asked = slow_answer(lab, push)
    other = lab.client("other", outside=True)
    other.consume()
    lab.core.advance(100_000)
    again = other.receive()
    lab.core.advance(15_000)
    assert not again.received
    asked.blocked = False
    asked.call.on_drained()
    assert push.ack(handle_of(asked.received[0])).code == m.Code.OK
    lab.core.advance(200_000)
    assert not again.received


@pytest.mark.parametrize("leaves_first", [False, True])
def test_message_that_a_push_consumer_does_not_read_comes_again_once(
    lab: ProxyLab, leaves_first: bool
) -> None:
    push = lab.client("push", outside=True)
    push.consume(push=True)
    asked = slow_answer(lab, push)
    lab.core.advance(100_000)
    request = m.NotifyClientTerminationRequest(group=m.Resource(name="g"))
    if leaves_first:
        push.ask("NotifyClientTermination", request)
    asked.cancel()
    assert not [*lab.proxy.renewals.client_ids()]
    push.ask("NotifyClientTermination", request)
    other = lab.client("other", outside=True)
    other.consume()
    lab.core.advance(5_000)
    assert ids(other.receive(auto_renew=True).received) == ["m1"]
    lab.core.advance(100_000)
    late = other.receive()
    lab.core.advance(15_000)
    assert not late.received


def poison(lab: ProxyLab, monkeypatch: pytest.MonkeyPatch, message_id: str) -> None:
    """Let a popped message have a property POP_CK that a producer set."""

    def decoded(body: bytes) -> list[MessageExt]:
        found = decode_records(body)
        for one in found:
            if one.msg_id == message_id:
                one.properties[POP_CK] = "x"
        return found

    monkeypatch.setattr(consuming, "decode_records", decoded)


def test_message_with_a_wrong_handle_is_written_with_the_others_and_not_prolonged(
    lab: ProxyLab, push: FrontClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    poison(lab, monkeypatch, "m1")
    push.send(*(message("prio", priority=0, id=f"m{number}") for number in range(3)))
    asked = push.receive("prio", auto_renew=True)
    assert (asked.code, asked.status) == (m.Code.OK, GrpcStatus.OK)
    assert ids(asked.received) == ["m0", "m1", "m2"]
    assert [name for name, _ in lab.proxy.renewals.renewed()] == ["m0", "m2"]


def test_message_with_a_wrong_handle_and_another_tag_is_delivered(
    lab: ProxyLab, client: FrontClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    poison(lab, monkeypatch, "m1")
    client.send(message(tag="Aa"))
    tags = m.FilterExpression(type=m.FilterType.TAG, expression="BB")
    assert ids(client.receive(filter_expression=tags).received) == ["m1"]


def test_message_with_a_wrong_handle_that_is_not_read_does_not_hold_the_others(
    lab: ProxyLab, client: FrontClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    poison(lab, monkeypatch, "m0")
    client.send(*(message("prio", priority=0, id=f"m{number}") for number in range(2)))
    lab.broker.pause()
    asked = client.receive("prio")
    asked.blocked = True
    lab.broker.resume()
    asked.cancel()
    lab.core.advance(5_000)
    assert ids(client.receive("prio").received) == ["m1"]


def test_disconnected_client_gets_no_renewed_message(lab: ProxyLab) -> None:
    client = lab.client()
    client.produce()  # settings, but no membership
    client.send(message())
    asked = client.receive(auto_renew=True)
    assert (asked.code, asked.message) == (40401, "The client [c1] is disconnected.")


def test_late_answer_to_a_caller_that_has_gone_is_given_back(
    lab: ProxyLab, client: FrontClient
) -> None:
    scope = Scope(code=RequestCode5.POP_MESSAGE)
    lab.core.faults.place(BEFORE_REPLY, Delay(2_000), "late", scope, ONCE)
    client.send(message())
    asked = client.receive(invisible_s=60)
    asked.cancel()
    lab.core.advance(2_000)
    again = client.receive()
    lab.core.advance(4_000)
    assert len(again.received) == 1
