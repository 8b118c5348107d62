"""What a broker agreed to and did not do: biography, diagnosis and assertions say so."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import fakemq
from fakemq.biographies import steps
from fakemq.events import (
    Acknowledged,
    CommitIgnored,
    InvisibleTimeChanged,
    PassedOver,
    TagCollided,
)
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.protocol.v5.headers.offset import ResetOffsetRequestHeader5
from tests.support.consumer import consuming
from tests.support.popper import Popper
from tests.support.pops import GROUP, ack_header, batch_ack_body, change_header

NO_LONGER = "with a handle that no longer counts"


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(
        reference="5.5.0", clock="frozen", start_at="2024-02-29T12:00:00Z", topics={"orders": 1}
    ) as cluster:
        cluster.group(GROUP).set(retry_max_times=16)
        yield cluster


@pytest.fixture
def client(mq: fakemq.Cluster) -> Iterator[Popper]:
    with Popper(mq.namesrv_addr, consumer_group=GROUP, producer_group="shop") as popper:
        popper.addr = mq.broker("broker-a").addr
        yield popper


def acknowledge(client: Popper, popped: object, message: object) -> None:
    client.ask(RequestCode5.ACK_MESSAGE, ack_header(popped, message))  # type: ignore[arg-type]


def acknowledge_in_a_batch(client: Popper, popped: object, message: object) -> None:
    body = batch_ack_body(popped, [message])  # type: ignore[arg-type, list-item]
    command = RemotingCommand(RequestCode5.BATCH_ACK_MESSAGE, body=body)
    client.run(client.instance.invoke_ok(client.addr, command))


Acknowledge = Callable[[Popper, object, object], None]
BOTH = pytest.mark.parametrize("ack", [acknowledge, acknowledge_in_a_batch])


@BOTH
def test_acknowledgement_with_an_old_handle_is_said_to_have_no_effect(
    mq: fakemq.Cluster, client: Popper, ack: Acknowledge
) -> None:
    mq.seed("orders", ["one"])
    popped = client.pop()
    mq.clock.advance("1s")
    change = change_header(popped, popped.messages[0], 20_000)
    client.ask(RequestCode5.CHANGE_MESSAGE_INVISIBLETIME, change)
    mq.clock.advance("1s")
    ack(client, popped, popped.messages[0])
    (event,) = mq.journal.find(Acknowledged)
    assert not event.has_effect
    (step,) = mq.messages("orders")[0].biography.of(steps.PopAcknowledged)
    why = "its invisible time was changed at 12:00:01.000, which gave a new handle"
    assert f"{NO_LONGER} ({why}): no effect" in str(step)
    with pytest.raises(AssertionError, match=r"seen: {5}0") as failed:
        mq.assert_consumed("orders", GROUP)
    assert f"the acknowledgement at 12:00:02.000 has no effect: {NO_LONGER[5:]} ({why})" in str(
        failed.value
    )
    mq.clock.advance("30s")
    (line,) = mq.diagnosis("orders", GROUP)
    assert "revived, waits as attempt 2" in line
    assert f"has no effect: {NO_LONGER[5:]} ({why})" in line


@BOTH
def test_second_acknowledgement_has_no_effect(
    mq: fakemq.Cluster, client: Popper, ack: Acknowledge
) -> None:
    mq.seed("orders", ["one"])
    popped = client.pop()
    ack(client, popped, popped.messages[0])
    ack(client, popped, popped.messages[0])
    assert [one.has_effect for one in mq.journal.find(Acknowledged)] == [True, False]
    _, second = mq.messages("orders")[0].biography.of(steps.PopAcknowledged)
    assert f"{NO_LONGER} (it was acknowledged at 12:00:00.000): no effect" in str(second)
    mq.assert_consumed("orders", GROUP)


def test_change_with_an_old_handle_makes_the_message_come_once_more(
    mq: fakemq.Cluster, client: Popper
) -> None:
    mq.seed("orders", ["one"])
    popped = client.pop()
    acknowledge(client, popped, popped.messages[0])
    change = change_header(popped, popped.messages[0], 20_000)
    client.ask(RequestCode5.CHANGE_MESSAGE_INVISIBLETIME, change)
    (event,) = mq.journal.find(InvisibleTimeChanged)
    assert not event.has_effect
    (step,) = mq.messages("orders")[0].biography.of(steps.InvisibleTimeChanged)
    assert str(step).endswith(
        f"{NO_LONGER} (it was acknowledged at 12:00:00.000): it comes once more at 12:00:20.001"
    )
    with pytest.raises(AssertionError, match="popped once by workers, invisible until"):
        mq.assert_consumed("orders", GROUP)
    mq.clock.advance("30s")
    assert client.pop().bodies == [b"one"]


@BOTH
def test_acknowledgement_in_order_of_an_earlier_pop_has_no_effect(
    mq: fakemq.Cluster, client: Popper, ack: Acknowledge
) -> None:
    mq.seed("orders", ["one"])
    popped = client.pop(order=True, queue_id=0)
    mq.clock.advance("11s")
    client.pop(order=True, queue_id=0)
    ack(client, popped, popped.messages[0])
    change = change_header(popped, popped.messages[0], 20_000)
    client.ask(RequestCode5.CHANGE_MESSAGE_INVISIBLETIME, change)
    (acked,) = mq.journal.find(Acknowledged)
    (changed,) = mq.journal.find(InvisibleTimeChanged)
    assert not acked.has_effect
    assert not changed.has_effect
    biography = mq.messages("orders")[0].biography
    why = "no message is out for it: it is of an earlier pop, or of none"
    assert f"{NO_LONGER} ({why}): no effect" in str(biography.of(steps.PopAcknowledged)[0])
    assert f"{NO_LONGER} ({why}): no effect" in str(biography.of(steps.InvisibleTimeChanged)[0])
    with pytest.raises(AssertionError, match="has no effect: a handle that no longer counts"):
        mq.assert_consumed("orders", GROUP)


def test_acknowledgement_in_order_behind_the_offset_has_no_effect(
    mq: fakemq.Cluster, client: Popper
) -> None:
    mq.seed("orders", ["one", "two"])
    popped = client.pop(order=True, queue_id=0)
    for message in popped.messages:
        acknowledge(client, popped, message)
    acknowledge(client, popped, popped.messages[0])
    change = change_header(popped, popped.messages[0], 20_000)
    client.ask(RequestCode5.CHANGE_MESSAGE_INVISIBLETIME, change)
    assert [one.has_effect for one in mq.journal.find(Acknowledged)] == [True, True, False]
    assert [one.has_effect for one in mq.journal.find(InvisibleTimeChanged)] == [False]
    mq.assert_consumed("orders", GROUP)


def reference(name: str) -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(
        reference=name, clock="frozen", start_at="2024-02-29T12:00:00Z", topics={"orders": 1}
    ) as cluster:
        yield cluster


@pytest.fixture(params=["4.9.7", "5.5.0"])
def either(request: pytest.FixtureRequest) -> Iterator[fakemq.Cluster]:
    yield from reference(request.param)


LACKS = (
    "whose subscription 'Aa' does not have the tag 'BB' (same hash as 'Aa'): the client drops it"
)


def test_tag_with_the_same_hash_is_said_to_be_dropped(either: fakemq.Cluster) -> None:
    mq = either
    got: list[bytes] = []
    mq.seed("orders", ["one"], tags="BB")
    mq.seed("orders", ["two"], tags="others")
    consumer = mq.consumer(
        group="h",
        subscribe={"orders": "Aa"},
        consume_from="first",
        on_message=lambda m: got.append(m.body),
    )
    mq.clock.advance("15s")
    assert got == []
    (event,) = mq.journal.find(TagCollided)
    assert (event.tag, event.same_as, event.expression) == ("BB", "Aa", "Aa")
    biography, other = (message.biography for message in mq.messages("orders"))
    (dropped,) = biography.of(steps.Dropped)
    assert str(dropped).endswith(LACKS)
    (passed,) = biography.of(steps.PassedOver)
    assert "not consumed by h: passed over by the offset 2 committed by" in str(passed)
    (passed,) = other.of(steps.PassedOver)
    assert "not delivered to h: its filter 'Aa' does not match" in str(passed)
    assert not biography.of(steps.Delivered)
    assert not biography.of(steps.Acknowledged)
    for fails in (mq.assert_consumed, mq.assert_delivered_once):
        with pytest.raises(AssertionError, match="delivered to h, ") as failed:
            fails("orders", "h")
        assert LACKS in str(failed.value)
    consumer.close()
    assert any(line.endswith(LACKS) for line in mq.diagnosis("orders", "h"))


def test_message_that_a_filter_went_past_is_not_acked(either: fakemq.Cluster) -> None:
    mq = either
    mq.seed("orders", ["one"], tags="open")
    mq.seed("orders", ["two"], tags="paid")
    got: list[bytes] = []
    consumer = mq.consumer(
        group="h",
        subscribe={"orders": "paid"},
        consume_from="first",
        on_message=lambda m: got.append(m.body),
    )
    mq.clock.advance("15s")
    assert got == [b"two"]
    (event,) = mq.journal.find(PassedOver, count=1)
    assert (event.queue_offset, event.next_offset, event.expression) == (0, 2, "paid")
    one, two = (message.biography for message in mq.messages("orders"))
    (passed,) = one.of(steps.PassedOver)
    assert passed.text() == (
        "not delivered to h: its filter 'paid' does not match, passed over by the offset 2"
    )
    assert not one.of(steps.Acknowledged)
    assert two.of(steps.Acknowledged)
    consumer.close()
    with pytest.raises(AssertionError) as failed:
        mq.assert_consumed("orders", "h")
    assert (
        "b'one' of orders: never delivered: filter 'paid' of group h did not match tag 'open'"
        in str(failed.value)
    )


def test_commit_past_an_unread_message_is_no_acknowledgement(mq: fakemq.Cluster) -> None:
    mq.seed("orders", ["one"])
    with consuming(mq) as client:
        (queue,) = client.subscribe_queues("orders")
        client.update_offset(queue, 1, oneway=False)
        (passed,) = mq.messages("orders")[0].biography.of(steps.PassedOver)
    assert "not delivered to billing: passed over by the offset 1 committed by" in passed.text()


def test_pop_names_filters_and_tags_with_the_same_hash(mq: fakemq.Cluster, client: Popper) -> None:
    mq.seed("orders", ["one"], tags="open")
    mq.seed("orders", ["two"], tags="BB")
    popped = client.pop(exp="Aa", exp_type="TAG")
    assert popped.bodies == [b"two"]
    acknowledge(client, popped, popped.messages[0])  # as clients of 5.5.0 do with what they drop
    one, two = (message.biography for message in mq.messages("orders"))
    (passed,) = one.of(steps.PassedOver)
    assert "its filter 'Aa' does not match" in passed.text()
    (dropped,) = two.of(steps.Dropped)
    assert str(dropped).endswith(LACKS)
    with pytest.raises(AssertionError, match="the client drops it"):
        mq.assert_consumed("orders", GROUP, bodies=["two"])


def test_commit_while_a_reset_is_pending_has_no_effect(mq: fakemq.Cluster) -> None:
    mq.seed("orders", ["one"])
    with consuming(mq) as client:
        (queue,) = client.subscribe_queues("orders")
        client.take("orders", commit=False)
        header = ResetOffsetRequestHeader5(
            topic="orders", group="billing", timestamp=0, is_force=True, queue_id=0, offset=0
        )
        addr = mq.broker("broker-a").addr
        command = client.instance.command(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header)
        client.run(client.instance.invoke_ok(addr, command))
        client.update_offset(queue, 1, oneway=False)
        (event,) = mq.journal.find(CommitIgnored)
        assert (event.offset, event.kept) == (1, 0)
        (step,) = mq.messages("orders")[0].biography.of(steps.CommitIgnored)
        assert "has no effect: a reset of the queue is pending" in step.text()
        with pytest.raises(
            AssertionError, match="its commits have no effect, a reset of the queue"
        ):
            mq.assert_consumed("orders", "billing")
