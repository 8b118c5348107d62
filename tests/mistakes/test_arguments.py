"""Arguments that cannot be meant: each is refused where it is written, with what would be right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import anyio
import pytest

import fakemq
from fakemq.client import SQL, AsyncClient, Client, LocalTransactionState, Message, Producer
from fakemq.client.errors import MQClientError
from fakemq.handles.values import Listing

Ask = Callable[[fakemq.Cluster], object]


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(clock="frozen", topics={"orders": 1}) as cluster:
        yield cluster


REFUSED: list[tuple[Ask, str]] = [
    (lambda mq: mq.clock.advance("2 hors"), "advance='2 hors': expected a duration such as \"2h\""),
    (lambda mq: mq.clock.advance(None), "advance=None: expected a duration"),  # type: ignore[arg-type]
    (lambda mq: mq.wait_for(lambda: 1, timeout="x"), "timeout='x': expected a duration"),
    (lambda mq: mq.run_until(lambda: 1, at_most="-5s"), "at_most='-5s': expected a duration that"),
    (
        lambda mq: mq.wait_for(mq.messages("orders")),  # type: ignore[arg-type]
        "predicate=[]: expected a function without arguments, such as lambda: mq.messages(",
    ),
    (lambda mq: mq.run_until(3, at_most="5s"), "predicate=3: expected a function"),  # type: ignore[arg-type]
    (lambda mq: mq.clock.advance_to("tomorrow"), "expected an ISO 8601 date and time such as"),
    (lambda mq: mq.seed("orders", b"x"), "expected a list of bodies, such as [b'x'], not b'x'"),  # type: ignore[arg-type]
    (lambda mq: mq.seed("orders", [5]), "expected bodies of bytes or text, not 5"),  # type: ignore[list-item]
    (lambda mq: mq.seed("orders", [{"a": 1}]), "expected bodies of bytes or text, not {'a': 1}"),  # type: ignore[list-item]
    (lambda mq: mq.seed("orders", ["x"], tags=5), "tags=5: expected text"),  # type: ignore[arg-type]
    (lambda mq: mq.seed("orders", ["x"], keys=5), "keys=5: expected text, or several texts"),  # type: ignore[arg-type]
    (
        lambda mq: mq.seed("orders", ["x"], properties={"a": 5}),  # type: ignore[dict-item]
        "property 'a'=5: expected two texts",
    ),
    (lambda mq: mq.seed("orders", ["x"], properties=5), "properties=5: expected names and values"),  # type: ignore[arg-type]
    (
        lambda mq: mq.seed("orders", ["x"], delay="25m"),
        "delay='25m': no delay level waits so long; the nearest wait 20m and 30m. ",
    ),
    (
        lambda mq: mq.seed("orders", ["x"], delay="31m"),
        "delay='31m': no delay level waits so long; the nearest wait 30m and 1h. ",
    ),
    (
        lambda mq: mq.seed("orders", ["x"], delay=10_800),
        "delay=10800: no delay level waits so long; the nearest waits 2h. ",
    ),
    (
        lambda mq: mq.seed("orders", ["x"], delay=0.5),
        "delay=0.5: no delay level waits so long; the nearest waits 1s. ",
    ),
    (lambda mq: mq.messages(5), "topic=5: expected text"),  # type: ignore[arg-type]
    (lambda mq: mq.topic(5), "topic=5: expected text"),  # type: ignore[arg-type]
    (lambda mq: mq.group(5), "group=5: expected text"),  # type: ignore[arg-type]
    (lambda mq: mq.group("b").lag(5), "topic=5: expected text"),  # type: ignore[arg-type]
    (lambda mq: mq.assert_sent("orders", "5"), "count='5': expected a whole number"),  # type: ignore[arg-type]
    (lambda mq: mq.assert_consumed("orders", 5), "group=5: expected text"),  # type: ignore[arg-type]
    (lambda mq: mq.create_topic("x", "8"), "queues of topic x='8': expected a whole number"),  # type: ignore[arg-type]
    (lambda mq: mq.group("b").set(retry_max=3), "a group has no retry_max; it has: "),  # type: ignore[call-arg]
    (lambda mq: mq.faults.drop("sned"), "no request code 'sned'; did you mean send?"),  # type: ignore[arg-type]
    (lambda mq: mq.faults.drop("send", times=0), "times=0: expected a whole number, 1 or more"),
    (lambda mq: mq.faults.drop("send", topics="a"), "a fault has no topics=; did you mean topic?"),  # type: ignore[call-arg]
    (lambda _: fakemq.Cluster(clock="frozn"), "clock='frozn': expected real or frozen"),  # type: ignore[arg-type]
    (
        lambda _: fakemq.Cluster(mastres=2),  # type: ignore[call-arg]
        "a cluster has no option 'mastres'; did you mean masters?",
    ),
    (
        lambda _: fakemq.Cluster(topics=["bills"]),
        "or NAME:QUEUES:TYPE; in Python, better topics={'bills': 8}",
    ),
    (lambda _: fakemq.Cluster(topics=5), 'topics=5: expected {"orders": 8}, or NAME:QUEUES texts'),  # type: ignore[arg-type]
    (lambda _: Message("t", 5), "the body is 5: expected bytes or text"),  # type: ignore[arg-type]
    (lambda _: Message("t", {"a": 1}), "the body is {'a': 1}: expected bytes or text"),  # type: ignore[arg-type]
    (
        lambda _: Message("t", b"", properties={"a": 1}),  # type: ignore[dict-item]
        "properties has 'a': 1: expected text for both",
    ),
    (lambda _: Message("t", b"", delay="7s"), "the nearest wait 5s and 10s. "),
    (lambda _: Message("t", b"", delay="soon"), "delay='soon': expected a duration"),
    (lambda _: Message("t", b"", delay="5s", delay_level=2), "delay and delay_level: expected one"),
    (lambda mq: mq.producer().send("orders", {"a": 1}), "the body is {'a': 1}: expected bytes or"),  # type: ignore[call-overload]
    (lambda mq: mq.producer().send("orders", b"", dely="5s"), "option 'dely'; did you mean delay?"),  # type: ignore[call-overload]
    (
        lambda mq: mq.producer().send([Message("orders", b"x")]),  # type: ignore[call-overload]
        "'true'}>]; send_batch takes several Messages",
    ),
    (lambda mq: mq.producer(grp="x"), "mq.producer() got an unexpected option 'grp'; did you mean"),  # type: ignore[call-overload]
    (
        lambda mq: mq.consumer(group="b", subscribe="orders", on_mesage=print),  # type: ignore[call-overload]
        "mq.consumer() got an unexpected option 'on_mesage'; did you mean on_message?",
    ),
    (lambda _: Producer(group="a", chek=1), "chek"),  # type: ignore[call-arg]
]


@pytest.mark.parametrize(("ask", "text"), REFUSED, ids=[text[:40] for _, text in REFUSED])
def test_wrong_argument_is_refused(mq: fakemq.Cluster, ask: Ask, text: str) -> None:
    with pytest.raises((fakemq.ConfigError, TypeError)) as raised:
        ask(mq)
    assert text in str(raised.value)


def test_wrong_type_is_a_config_error_and_a_type_error(mq: fakemq.Cluster) -> None:
    for kind in (fakemq.ConfigError, TypeError, ValueError):
        with pytest.raises(kind, match="expected a list of bodies"):
            mq.seed("orders", "x")
        with pytest.raises(kind, match="the body is 5"):
            Message("orders", 5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("delay", "level"),
    [("1s", 1), ("30s", 4), ("1m", 5), (60, 5), ("30m", 16), (timedelta(hours=2), 18), (0, 0)],
)
def test_delay_of_a_message_chooses_its_level(delay: str, level: int) -> None:
    message = Message("orders", b"x", delay=delay)
    assert message.delay_level == level
    assert ("DELAY" in message.properties) == bool(level)


def test_delay_is_an_option_of_sends_and_of_seeds(mq: fakemq.Cluster) -> None:
    mq.seed("orders", ["seeded"], delay="30m", keys=["a", "b"])
    mq.producer(kind="blocking").send("orders", b"sent", delay="30m")
    assert [one.level for one in mq.delayed("orders")] == [16, 16]
    mq.clock.advance("30m")
    assert sorted(one.body for one in mq.messages("orders")) == [b"seeded", b"sent"]
    assert {one.keys for one in mq.messages("orders")} == {"a b", ""}


def test_delay_of_a_seed_has_the_levels_of_the_cluster() -> None:
    with fakemq.Cluster(clock="frozen", config={"messageDelayLevel": "7s 1d"}) as mq:
        mq.seed("orders", ["x"], delay="1d")
        assert [one.level for one in mq.delayed("orders")] == [2]


@pytest.mark.parametrize("is_async", [True, False])
def test_async_client_takes_both_kinds_of_local_transactions(is_async: bool) -> None:
    async def pay_later(message: Message) -> LocalTransactionState:
        await anyio.sleep(0)
        return LocalTransactionState.COMMIT_MESSAGE

    def pay(message: Message) -> LocalTransactionState:
        return LocalTransactionState.COMMIT_MESSAGE

    async def send(addr: str) -> None:
        async with AsyncClient(addr, producer_group="shop") as client:
            half = Message("orders", b"tea")
            sent = await client.send_in_transaction(half, pay_later if is_async else pay)
            assert sent.state is LocalTransactionState.COMMIT_MESSAGE

    with fakemq.Cluster(topics={"orders": 1}) as mq:
        anyio.run(send, mq.namesrv_addr)
        mq.wait_for(lambda: mq.messages("orders"))


def test_error_of_an_async_local_transaction_is_raised() -> None:
    async def pay(message: Message) -> LocalTransactionState:
        raise ZeroDivisionError

    async def send(addr: str) -> None:
        async with AsyncClient(addr, producer_group="shop") as client:
            with pytest.raises(ZeroDivisionError):
                await client.send_in_transaction(Message("orders", b"tea"), pay)

    with fakemq.Cluster(topics={"orders": 1}) as mq:
        anyio.run(send, mq.namesrv_addr)
        mq.wait_for(lambda: mq.journal.find("HalfStored"))
        assert mq.messages("orders") == []


def test_blocking_client_refuses_an_async_local_transaction(mq: fakemq.Cluster) -> None:
    async def pay(message: Message) -> LocalTransactionState:
        return LocalTransactionState.COMMIT_MESSAGE

    with Client(mq.namesrv_addr) as client, pytest.raises(TypeError, match="use AsyncClient, or"):
        client.send_in_transaction(Message("orders", b"tea"), pay)  # type: ignore[arg-type]
    assert not mq.journal.find("HalfStored")


def test_long_list_is_shown_in_few_lines(mq: fakemq.Cluster) -> None:
    mq.seed("orders", map(str, range(100)))
    shown = repr(mq.messages("orders")).splitlines()
    assert len(shown) == 7
    assert shown[-1] == " … and 94 more]"
    assert shown[0].startswith("[<message ")
    assert repr(Listing([1, 2, 3])) == "[1, 2, 3]"
    assert mq.messages("orders")[:2] == list(mq.messages("orders"))[:2]
    for found in (mq.journal.entries(), mq.journal.find("LogAppended"), mq.journal.tail(50)):
        assert len(repr(found).splitlines()) == 7


def test_sql_without_its_key_in_the_broker_is_refused_with_the_key() -> None:
    with fakemq.Cluster(topics={"orders": 1}) as mq:
        needs = "filter message by SQL92: its config needs enablePropertyFilter=true$"
        with pytest.raises(MQClientError, match=needs):
            mq.consumer(group="billing", subscribe={"orders": SQL("a > 1")})
