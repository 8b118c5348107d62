"""What most likely keeps a message from being consumed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

import fakemq
from fakemq.biographies import groups
from fakemq.biographies.biographer import Biographer
from fakemq.biographies.diagnosis import diagnosis
from fakemq.client import LocalTransactionState, Message, PullConsumer, ReceivedMessage
from fakemq.core.cluster import ClusterCore
from fakemq.journal.entries import Entry
from fakemq.journal.journal import Journal
from fakemq.protocol.bodies.queue import MessageQueue
from tests.support.consumer import Consumer, consuming
from tests.support.form import pure_only
from tests.support.long_reads import most_reads_of_a_step

NEVER = "b'one' of orders: never delivered: "


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(
        clock="frozen", start_at="2024-02-29T12:00:00Z", topics={"orders": 1}
    ) as cluster:
        yield cluster


@pytest.fixture
def client(mq: fakemq.Cluster) -> Iterator[Consumer]:
    with consuming(mq) as client:
        mq.seed("orders", [b"one"])
        yield client


def test_diagnosis_of_no_messages_is_empty(mq: fakemq.Cluster) -> None:
    assert mq.diagnosis() == []


def test_diagnosis_says_that_no_group_has_pulled(mq: fakemq.Cluster) -> None:
    mq.seed("orders", [b"one"])
    assert mq.diagnosis() == [NEVER + "no group has asked for orders"]
    assert mq.diagnosis("orders", "billing") == [NEVER + "group billing has no member"]
    with pytest.raises(LookupError, match="no topic 'others'; there are: "):
        mq.diagnosis("others")


def test_diagnosis_of_several_messages_is_one_line(mq: fakemq.Cluster) -> None:
    mq.seed("orders", [b"1", b"2"], keys="k")
    mq.seed("orders", [b"3", b"4"])
    assert mq.diagnosis() == [
        "4 messages of orders (k, k, b'3', …): never delivered: no group has asked for orders"
    ]


def test_diagnosis_leaves_tools_out_that_looked_at_a_message(mq: fakemq.Cluster) -> None:
    mq.seed("orders", [b"one"])
    with PullConsumer(mq.namesrv_addr, group="TOOLS_CONSUMER") as tool:
        (queue,) = tool.fetch_subscribe_message_queues("orders")
        assert tool.pull(queue, offset=0).messages
    assert mq.diagnosis() == [NEVER + "no group has asked for orders"]


@pure_only
def test_diagnosis_reads_the_journal_once_for_many_messages(
    mq: fakemq.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []
    entries = Journal._entries

    def counted(self: Journal, start: int) -> Iterator[Entry]:
        read.append(start)
        return entries(self, start)

    mq.seed("orders", [b"one"] * 30)
    monkeypatch.setattr(Journal, "_entries", counted)
    assert mq.diagnosis()[0].startswith("30 messages of orders")
    assert len(read) <= 2


def test_diagnosis_names_a_group_that_pulled_and_left(mq: fakemq.Cluster, client: Consumer) -> None:
    client.take("orders")
    client.close()
    mq.seed("orders", [b"two"])
    assert mq.diagnosis() == ["b'two' of orders: never delivered: group billing has no member"]


def test_diagnosis_names_a_member_that_does_not_pull(mq: fakemq.Cluster, client: Consumer) -> None:
    assert mq.diagnosis() == [NEVER + "no member of group billing has pulled it"]


@pytest.mark.parametrize(("how", "state"), [("pause", "paused"), ("kill", "stopped")])
def test_diagnosis_names_a_broker_that_is_down(
    mq: fakemq.Cluster, client: Consumer, how: str, state: str
) -> None:
    getattr(mq.broker("broker-a"), how)()
    assert mq.diagnosis() == [NEVER + f"its broker broker-a-0 is {state}"]
    if how == "pause":
        mq.broker("broker-a").resume()


def test_diagnosis_names_a_suspended_group(mq: fakemq.Cluster, client: Consumer) -> None:
    mq.group("billing").suspend()
    assert mq.diagnosis() == [NEVER + "consume is disabled for group billing"]


def test_diagnosis_names_a_filter_that_does_not_match(mq: fakemq.Cluster) -> None:
    with consuming(mq, member=False) as client:
        client.subscribe("orders", "paid || sent")
        client.heartbeat()
        mq.seed("orders", [b"one"], tags="open")
        mq.seed("orders", [b"two"])
        mq.seed("orders", [b"three"], tags="paid")
        said = "never delivered: tag filter 'paid || sent' of group billing does not match"
        assert mq.diagnosis() == [
            f"b'one' of orders: {said} tag 'open'",
            f"b'two' of orders: {said} a message without tag",
            "b'three' of orders: never delivered: no member of group billing has pulled it",
        ]


def test_diagnosis_says_how_tags_are_joined(mq: fakemq.Cluster) -> None:
    mq.consumer(group="billing", subscribe={"orders": "paid, open"})
    mq.seed("orders", [b"one"], tags="open")
    assert mq.diagnosis()[0].endswith(
        " of group billing does not match tag 'open'; several tags are joined by ||: paid || open"
    )


def test_diagnosis_names_a_group_that_subscribes_to_a_mistyped_topic(mq: fakemq.Cluster) -> None:
    mq.consumer(group="billing", subscribe="order")  # this creates it
    mq.seed("orders", [b"one"])
    asked = "no group has asked for orders; group billing subscribes to order; did you mean orders?"
    assert mq.diagnosis() == [NEVER + asked]


def test_diagnosis_names_a_group_that_is_most_likely_a_mistyped_one(mq: fakemq.Cluster) -> None:
    mq.seed("orders", [b"one"])
    mq.group("shipping").set(retry_max_times=3)
    none = "group {} has no member"
    assert mq.diagnosis(group="shippings2") == [
        f"{NEVER}{none.format('shippings2')}; did you mean shipping?"
    ]
    assert mq.diagnosis(group="reports") == [NEVER + none.format("reports")]
    mq.group("biling").set(retry_max_times=3)
    mq.consumer(group="billing", subscribe="orders")
    meant = "; group billing subscribes to orders; did you mean biling?"
    assert mq.diagnosis("orders", "biling") == [NEVER + none.format("biling") + meant]


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names that a diagnosis has compared with others; none is like another."""
    names: list[str] = []

    def compare(name: str, there: Iterable[str]) -> None:
        names.append(name)

    monkeypatch.setattr(groups, "almost_like", compare)
    return names


@pure_only
def test_diagnosis_looks_once_for_a_mistyped_group(mq: fakemq.Cluster, compared: list[str]) -> None:
    mq.consumer(group="billing", subscribe="orders")
    mq.seed("orders", [b"one"] * 9)
    assert mq.diagnosis("orders", "reports")[0].endswith("group reports has no member")
    assert compared == ["billing"]


@pure_only
def test_diagnosis_looks_once_for_a_mistyped_topic(mq: fakemq.Cluster, compared: list[str]) -> None:
    mq.consumer(group="billing", subscribe="bills")
    mq.seed("orders", [b"one"] * 9)
    assert mq.diagnosis()[0].endswith(": never delivered: no group has asked for orders")
    assert compared == ["orders"]


@pure_only
def test_diagnosis_compares_few_of_many_groups(
    mq: fakemq.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[str] = []

    def did_you_mean(word: str, known: list[str], **how: object) -> str:
        compared.extend(known)
        return ""

    monkeypatch.setattr(groups, "did_you_mean", did_you_mean)
    for number in range(1_000):
        mq.group(f"billing-{number:04}").set(retry_max_times=3)
    mq.seed("orders", [b"one"])
    assert mq.diagnosis(group="billing-0500x9") == [NEVER + "group billing-0500x9 has no member"]
    assert "billing-0500" in compared
    assert len(compared) == 400


def test_diagnosis_names_another_subscription(mq: fakemq.Cluster, client: Consumer) -> None:
    mq.create_topic("bills", 1)
    mq.seed("bills", [b"b"])
    assert mq.diagnosis("bills", "billing") == [
        "b'b' of bills: never delivered: group billing does not subscribe to bills, but to orders"
    ]


def test_diagnosis_names_an_unreadable_topic(mq: fakemq.Cluster, client: Consumer) -> None:
    mq.topic("orders").set_perm("W")
    assert mq.diagnosis() == [NEVER + "topic orders cannot be read"]


def test_diagnosis_names_an_offset_behind_the_message(mq: fakemq.Cluster, client: Consumer) -> None:
    (queue,) = client.subscribe_queues("orders")
    client.update_offset(queue, 1, oneway=False)
    assert mq.diagnosis() == [
        NEVER + "group billing has committed offset 1 already, which is past it"
    ]


def test_diagnosis_names_a_locked_queue(mq: fakemq.Cluster, client: Consumer) -> None:
    with consuming(mq, member=False) as other:
        assert other.lock([MessageQueue(topic="orders", broker_name="broker-a", queue_id=0)])
        locked = f"its queue is locked by {other.instance.client_id}, which is no member"
        assert mq.diagnosis() == [NEVER + locked + " of group billing"]


def test_delivery_to_a_group_without_members_is_never_acknowledged(mq: fakemq.Cluster) -> None:
    with consuming(mq) as client:
        mq.seed("orders", [b"one"])
        client.take("orders", commit=False)
    mq.wait_for(lambda: not mq.group("billing").members())
    assert mq.diagnosis() == ["b'one' of orders: delivered once to billing, never acked"]


def test_diagnosis_names_a_delivery_without_acknowledgement(
    mq: fakemq.Cluster, client: Consumer
) -> None:
    client.take("orders", commit=False)
    (line,) = mq.diagnosis()
    assert line == (
        "b'one' of orders: delivered once to billing, not acked yet: a client commits its offsets"
        " every 5 s, for the first time 10 s after its start, and when it is closed"
    )
    mq.clock.advance("10s")
    (line,) = mq.diagnosis()
    assert line == (
        "b'one' of orders: delivered once to billing, never acked: its listener has not returned,"
        " or the consumer has no listener and no loop takes its messages"
    )
    client.take("orders")
    assert mq.diagnosis() == []


def test_diagnosis_names_a_dead_letter(mq: fakemq.Cluster, client: Consumer) -> None:
    (message,) = client.take("orders")
    client.send_back(mq.broker("broker-a").addr, message, max_retries=0)
    assert mq.diagnosis() == ["b'one' of %DLQ%billing: a dead letter: its group gave it up"]


def test_diagnosis_names_a_delay_that_is_not_over(mq: fakemq.Cluster) -> None:
    with consuming(mq, member=False) as client:
        client.send(Message("orders", b"one", properties={"DELAY": "5"}))
    waits = "b'one' of orders: waits at delay level 5, due in 1m at 12:01:00.000; "
    assert mq.diagnosis() == [waits + "the clock is frozen"]
    mq.broker("broker-a").pause()
    assert mq.diagnosis() == [waits + "its broker broker-a-0 is paused"]
    mq.broker("broker-a").resume()


def test_diagnosis_names_an_undecided_half_message(mq: fakemq.Cluster) -> None:
    half = "b'one' of orders: half message, neither committed nor rolled back "
    with consuming(mq) as client:
        client.send_half(Message("orders", b"one"))
        client.listen_for_checks(lambda _: None)
        client.heartbeat()
        assert mq.diagnosis() == [half + "(no check yet): the clock is frozen"]
    mq.wait_for(lambda: not mq.group("billing").members())
    mq.clock.advance("61s")
    assert mq.diagnosis() == [half + "(checked once): no producer of group shop is connected"]


def test_diagnosis_calls_no_producer_missing_that_was_started_just_now() -> None:
    half = "b'one' of orders: half message, neither committed nor rolled back "
    with fakemq.Cluster(topics={"orders": 1}) as mq:
        producer = mq.producer(group="shop")
        producer.send_in_transaction(Message("orders", b"one"), lambda message: None)
        waits = half + "(no check yet): its producer has not decided, and is asked every 1m"
        assert not mq.journal.find("MemberChanged", kind="producer")  # its first heartbeat comes
        assert mq.diagnosis() == [waits]
        mq.clock.advance("30s")
        assert mq.diagnosis() == [waits]
        mq.clock.advance("31s")
        assert mq.diagnosis() == [half + "(checked once): its producer has not decided"]


def test_diagnosis_names_a_producer_that_has_gone_before_the_check(mq: fakemq.Cluster) -> None:
    with consuming(mq) as client:
        client.send_half(Message("orders", b"one"))
        client.heartbeat()
    mq.wait_for(lambda: not mq.group("billing").members())
    (line,) = mq.diagnosis()
    assert line.endswith("(no check yet): no producer of group shop is connected")


def test_half_message_that_was_given_up_is_a_diagnosis(mq: fakemq.Cluster) -> None:
    mq.producer().send_in_transaction(Message("orders", b"one"), lambda message: None)
    mq.clock.advance("1h")
    given_up = "half message, neither committed nor rolled back, given up after 15 checks"
    assert mq.diagnosis() == mq.diagnosis("orders") == [f"b'one' of orders: {given_up}"]
    with pytest.raises(AssertionError, match=given_up):
        mq.assert_sent("orders")


def test_rolled_back_half_message_explains_a_missing_send_alone(mq: fakemq.Cluster) -> None:
    roll_back = LocalTransactionState.ROLLBACK_MESSAGE
    mq.producer().send_in_transaction(Message("orders", b"one"), lambda message: roll_back)
    rolled_back = "b'one' of orders: half message, its producer rolled it back$"
    with pytest.raises(AssertionError, match=rolled_back):
        mq.assert_sent("orders")
    assert mq.diagnosis() == []  # no message waits


def test_timer_message_that_a_broker_of_4_9_7_delivers_at_once_is_a_diagnosis(
    mq: fakemq.Cluster,
) -> None:
    mq.producer().send(Message("orders", b"one", properties={"TIMER_DELAY_SEC": "60"}))
    why = "only brokers of reference 5.5.0 know TIMER_DELAY_SEC, so it was stored without a delay"
    with pytest.raises(AssertionError, match=why):
        mq.assert_nothing_sent("orders")
    assert mq.diagnosis()[0] == f"b'one' of orders: {why}"


def test_acknowledged_message_explains_a_missing_dead_letter(mq: fakemq.Cluster) -> None:
    def refuse(message: ReceivedMessage) -> None:
        if message.body == b"void":
            raise ValueError

    mq.consumer(group="billing", subscribe="orders", on_message=refuse)
    mq.seed("orders", [b"one", b"void"])
    mq.clock.advance("10s")
    with pytest.raises(AssertionError) as failed:
        mq.assert_in_dlq("billing")
    text = str(failed.value).splitlines()
    assert text[3] == (
        "  b'one' of orders: acknowledged by billing, so it comes neither again nor to the DLQ: a"
        " consumer sends back a message whose function raises an error or asks for a retry"
    )
    assert "void" not in text[3]
    assert "b'void' of %RETRY%billing: waits at delay level 4" in text[4]


def test_diagnosis_names_a_crash_that_lost_the_message(tmp_path: object) -> None:
    with fakemq.Cluster(clock="frozen", topics={"orders": 1}, store=str(tmp_path), seed=3) as mq:
        with consuming(mq) as client:
            client.send(Message("orders", b"one"))
            mq.broker("broker-a").kill(lose_unsynced=True)
        mq.broker("broker-a").restart()
        (line,) = mq.diagnosis()
        assert line.endswith("of orders: lost by broker-a-0, its producer got SEND_OK")


def test_diagnosis_counts_delays_by_the_clock_of_the_cluster(mq: fakemq.Cluster) -> None:
    mq.broker("broker-a").clock.skew("3m")
    with consuming(mq) as client:
        client.send(Message("orders", b"later", properties={"DELAY": "5"}))
    (line,) = mq.diagnosis()
    assert "due in 1m at 12:01:00.000" in line


@pure_only
def test_diagnosis_reads_one_waiting_message_a_step(mq: fakemq.Cluster) -> None:
    mq.seed("orders", [b"later"] * 9, delay="10s")

    def reads(core: ClusterCore) -> int:
        chronicle = Biographer(core, lambda call: call()).chronicle()
        return most_reads_of_a_step(core, diagnosis(core, chronicle, "orders"))

    assert mq.inspect(reads) <= 2
