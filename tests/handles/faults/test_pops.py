"""Faults of pops, acknowledgements and renewals: lost, late, duplicated, refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fakemq
from fakemq.client import MQBrokerError, MQClientError, RemotingError
from fakemq.client.operation import tell
from fakemq.errors import ConfigError
from fakemq.events import Acknowledged, RequestHandled, Revived
from fakemq.protocol.v5.codes import RequestCode5, ResponseCode5
from tests.support.popper import Popper
from tests.support.pops import GROUP, ack_header, change_header

POP, ACK = RequestCode5.POP_MESSAGE, RequestCode5.ACK_MESSAGE
CHANGE = RequestCode5.CHANGE_MESSAGE_INVISIBLETIME


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(reference="5.5.0", clock="frozen", topics={"orders": 1}) as cluster:
        cluster.group(GROUP).set(retry_max_times=16)
        yield cluster


@pytest.fixture
def client(mq: fakemq.Cluster) -> Iterator[Popper]:
    with Popper(mq.namesrv_addr) as popper:
        popper.addr = mq.broker("broker-a").addr
        yield popper


def handled(mq: fakemq.Cluster, code: int) -> int:
    return len([one for one in mq.journal.find(RequestHandled) if one.code == code])


def test_lost_answer_to_a_pop_leaves_the_message_invisible(
    mq: fakemq.Cluster, client: Popper
) -> None:
    mq.seed("orders", ["tea"])
    lost = mq.faults.close("POP_MESSAGE", at="before_reply", topic="orders", group=GROUP)
    with pytest.raises((RemotingError, MQClientError)):
        client.pop()
    assert lost.fired == 1
    assert len(mq.group(GROUP).inflight()) == 1
    mq.clock.advance_to_next("pop_revive")
    (message,) = client.pop().messages
    assert (message.body, message.reconsume_times) == (b"tea", 1)


def test_lost_acknowledgement_lets_the_message_come_again(
    mq: fakemq.Cluster, client: Popper
) -> None:
    mq.seed("orders", ["tea"])
    popped = client.pop()
    lost = mq.faults.close(ACK, topic="orders", queue=0, group=GROUP)
    with pytest.raises((RemotingError, MQClientError)):
        client.ask(ACK, ack_header(popped, popped.messages[0]))
    assert lost.fired == 1
    mq.clock.advance_to_next("pop_revive")
    assert [one.body for one in client.pop().messages] == [b"tea"]


def test_refused_acknowledgement_can_be_repeated(mq: fakemq.Cluster, client: Popper) -> None:
    mq.seed("orders", ["tea"])
    popped = client.pop()
    header = ack_header(popped, popped.messages[0])
    mq.faults.error("ACK_MESSAGE", code="SYSTEM_BUSY", group=GROUP)
    with pytest.raises(MQBrokerError, match="SYSTEM_BUSY"):
        client.ask(ACK, header)
    client.ask(ACK, header)
    mq.clock.advance("1m")
    assert not mq.journal.find(Revived)


def test_late_acknowledgement_comes_after_the_revival(mq: fakemq.Cluster, client: Popper) -> None:
    mq.seed("orders", ["tea"])
    popped = client.pop()
    fault = mq.faults.delay("ACK_MESSAGE", "30s")
    command = client.instance.command(ACK, ack_header(popped, popped.messages[0]))
    client.run(tell(client.addr, command, 3_000))
    mq.wait_for(lambda: fault.fired)
    mq.clock.advance("29s")
    assert len(mq.journal.find(Revived)) == 1
    mq.clock.advance("1s")
    assert handled(mq, ACK) == 1
    assert [one.body for one in client.pop().messages] == [b"tea"]


def test_duplicated_acknowledgement_acknowledges_once(mq: fakemq.Cluster, client: Popper) -> None:
    mq.seed("orders", ["tea"])
    popped = client.pop()
    fault = mq.faults.duplicate("ACK_MESSAGE", 3)
    client.ask(ACK, ack_header(popped, popped.messages[0]))
    assert (fault.fired, fault.what) == (1, "handle 3 times ACK_MESSAGE, before_store")
    assert handled(mq, ACK) == 3
    assert mq.journal.find(Acknowledged)
    mq.clock.advance("1m")
    assert not mq.journal.find(Revived)


def test_duplicated_pop_takes_a_second_message_and_loses_it(
    mq: fakemq.Cluster, client: Popper
) -> None:
    mq.seed("orders", ["tea", "milk"])
    mq.faults.duplicate("POP_MESSAGE")
    popped = client.pop(max_msg_nums=1)
    assert [one.body for one in popped.messages] == [b"tea"]
    assert [out.offset for out in mq.group(GROUP).inflight()] == [0, 1]
    client.ask(ACK, ack_header(popped, popped.messages[0]))
    mq.clock.advance_to_next("pop_revive")
    assert [one.body for one in client.pop().messages] == [b"milk"]


def test_refused_renewal_changes_no_invisible_time(mq: fakemq.Cluster, client: Popper) -> None:
    mq.seed("orders", ["tea"])
    popped = client.pop()
    until_ms = mq.group(GROUP).inflight()[0].visible_at_ms
    mq.faults.error("CHANGE_MESSAGE_INVISIBLETIME", code="SYSTEM_ERROR", topic="orders")
    with pytest.raises(MQBrokerError, match="SYSTEM_ERROR"):
        client.ask(CHANGE, change_header(popped, popped.messages[0], 60_000))
    (out,) = mq.group(GROUP).inflight()
    assert out.visible_at_ms == until_ms


def test_pop_is_answered_with_codes_of_later_releases(mq: fakemq.Cluster, client: Popper) -> None:
    fault = mq.faults.reply("POP_MESSAGE", code="POLLING_FULL", fields={"restNum": 0})
    with pytest.raises(MQBrokerError) as raised:
        client.pop()
    assert raised.value.code == ResponseCode5.POLLING_FULL
    assert fault.fired == 1


@pytest.mark.parametrize(
    ("code", "limits"),
    [
        ("POP_MESSAGE", {"topic": "orders", "queue": 0, "group": GROUP}),
        ("ACK_MESSAGE", {"topic": "orders", "queue": 0, "group": GROUP}),
        ("BATCH_ACK_MESSAGE", {"topic": "orders", "queue": 0, "group": GROUP}),
        ("CHANGE_MESSAGE_INVISIBLETIME", {"topic": "orders", "queue": 0, "group": GROUP}),
        ("NOTIFICATION", {"topic": "orders", "queue": 0, "group": GROUP}),
        ("QUERY_ASSIGNMENT", {"topic": "orders", "group": GROUP}),
        ("SET_MESSAGE_REQUEST_MODE", {"topic": "orders", "group": GROUP}),
        ("RECALL_MESSAGE", {"topic": "orders"}),
    ],
)
def test_fault_of_a_later_code_takes_the_limits_of_its_fields(
    mq: fakemq.Cluster, code: str, limits: dict[str, str | int]
) -> None:
    fault = mq.faults.drop(code, must_fire=False, **limits)  # type: ignore[arg-type]  # any limit
    assert fault.pending


def test_fault_of_a_later_code_names_what_is_wrong(mq: fakemq.Cluster) -> None:
    with pytest.raises(ConfigError, match="did you mean POP_MESSAGE"):
        mq.faults.drop("POP_MESAGE")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="a POP_MESSAGE is for brokers"):
        mq.faults.drop("POP_MESSAGE", node="namesrv-0")
    with pytest.raises(ConfigError, match="POLLING_FULL is no error of a POP_MESSAGE"):
        mq.faults.error("POP_MESSAGE", code="POLLING_FULL")
    with pytest.raises(ConfigError, match="duplicate at before_reply"):
        mq.faults.duplicate("ACK_MESSAGE", at="before_reply")
    with pytest.raises(ConfigError, match="copies"):
        mq.faults.duplicate("ACK_MESSAGE", 1)
