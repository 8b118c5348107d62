"""Numbers that no header, body or record can have are refused at once, by each method."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import fakemq
from fakemq.client.blocking import Client
from fakemq.config.checked import MAX_QUEUES
from fakemq.events import HandlerFailed
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.headers.topic import CreateTopicRequestHeader
from tests.support.tcp import TcpPeer

INT, LONG = 1 << 31, 1 << 63
YEAR_MS = 366 * 86_400_000


@pytest.fixture(scope="module")
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(clock="frozen", topics={"orders": 1}, slaves=1) as cluster:
        yield cluster
        assert not cluster.journal.find(HandlerFailed)


Call = Callable[[fakemq.Cluster, int], object]
TOO_LARGE: dict[str, tuple[Call, int]] = {
    "create_topic": (lambda mq, number: mq.create_topic("new", number), MAX_QUEUES + 1),
    "set_queues": (lambda mq, number: mq.topic("orders").set_queues(number), MAX_QUEUES + 1),
    "write queues": (lambda mq, number: mq.topic("orders").set_queues(1, number), MAX_QUEUES + 1),
    "seed queue": (lambda mq, number: mq.seed("orders", ["x"], queue=number), INT),
    "seed DELAY": (
        lambda mq, number: mq.seed("orders", ["x"], properties={"DELAY": str(number)}),
        INT,
    ),
    "retry_queue_nums": (lambda mq, number: mq.group("g").set(retry_queue_nums=number), INT),
    "retry_max_times": (lambda mq, number: mq.group("g").set(retry_max_times=number), INT),
    "broker_id": (lambda mq, number: mq.group("g").set(broker_id=number), LONG),
    "demote": (lambda mq, number: mq.broker("broker-a").demote(number), LONG),
    "skew": (lambda mq, number: mq.broker("broker-a").clock.skew(number), 8_000 * YEAR_MS // 1000),
    "disk size": (lambda mq, number: mq.broker("broker-a").set_disk_size(number), LONG),
    "error code": (lambda mq, number: mq.faults.error("PULL_MESSAGE", code=number), 1 << 15),
    "limit queue": (
        lambda mq, number: mq.faults.error("PULL_MESSAGE", code="SYSTEM_BUSY", queue=number),
        INT,
    ),
    "delay": (lambda mq, number: mq.faults.delay("PULL_MESSAGE", number), LONG),
    "copies": (
        lambda mq, number: mq.faults.duplicate_call("NOTIFY_CONSUMER_IDS_CHANGED", number),
        1_001,
    ),
    "show_queues": (lambda mq, number: mq.faults.show_queues("orders", number), INT),
    "hold at": (lambda mq, number: mq.faults.hold_slave("broker-a-1", at_offset=number), LONG),
    "truncate to": (
        lambda mq, number: mq.faults.truncate_slave("broker-a-1", to_offset=number),
        LONG,
    ),
}


@pytest.mark.parametrize("what", TOO_LARGE)
def test_number_is_refused_when_the_wire_has_none_so_large(mq: fakemq.Cluster, what: str) -> None:
    call, least = TOO_LARGE[what]
    for number in (least, 1 << 64, 10**400):
        with pytest.raises(ValueError, match=r"expected|Expected"):
            call(mq, number)
    mq.seed("orders", ["y"])
    assert [broker.state for broker in mq.brokers] == ["running", "running"]


@pytest.mark.parametrize("level", ["", "3s", "1.5", "٣x", "9" * 30, " 3"])
def test_seed_is_refused_when_its_delay_is_no_number(mq: fakemq.Cluster, level: str) -> None:
    with pytest.raises(fakemq.ConfigError, match="expected the number of a delay level"):
        mq.seed("orders", ["x"], properties={"DELAY": level})


def test_routes_stay_when_the_largest_topic_is_made() -> None:
    with fakemq.Cluster(topics={"orders": 1}) as mq, Client(mq.namesrv_addr) as client:
        mq.create_topic("large", MAX_QUEUES)
        assert len(client.publish_queues("large")) == MAX_QUEUES
        for refused in (MAX_QUEUES + 1, INT, LONG):
            with pytest.raises(fakemq.ConfigError, match="from 1 to 65536"):
                mq.create_topic("larger", refused)
        assert len(client.publish_queues("orders")) == 1


@pytest.mark.parametrize("number", [str(INT), str(LONG), "9" * 400, "-2147483649"])
def test_admin_request_is_refused_when_its_number_is_no_int(
    mq: fakemq.Cluster, number: str
) -> None:
    fields = {"topic": "wide", "perm": 6, "topic_filter_type": "SINGLE_TAG", "default_topic": "x"}
    header = CreateTopicRequestHeader(**fields, write_queue_nums=1, read_queue_nums=int(number))  # type: ignore[arg-type]  # as on the wire
    with TcpPeer(mq.broker("broker-a").addr) as peer:
        answer = peer.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, header)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "wide" not in mq.topics()


@pytest.mark.parametrize("start_at", ["0001-12-31T23:59:59Z", "9999-01-01T00:00:00Z"])
def test_start_is_refused_when_its_year_leaves_no_room(start_at: str) -> None:
    with pytest.raises(fakemq.ConfigError, match="expected a time in the years 2 to 9998"):
        fakemq.Cluster(start_at=start_at)


def test_clock_is_not_moved_when_the_year_would_have_five_digits() -> None:
    with fakemq.Cluster(clock="frozen", start_at="9998-12-31T23:59:00Z") as mq:
        mq.seed("orders", ["x"])
        mq.clock.advance("59s")
        with pytest.raises(fakemq.ConfigError, match="expected a time in the years 2 to 9998"):
            mq.clock.advance("1s")
        mq.seed("orders", ["x"])
        assert len(mq.messages("orders")) == 2


@pytest.mark.parametrize("name", ["masters", "slaves", "namesrvs"])
def test_cluster_is_refused_when_it_has_too_many_nodes(name: str) -> None:
    for number in (1_001, INT, LONG):
        with pytest.raises(fakemq.ConfigError, match="to 1000"):
            fakemq.Cluster(**{name: number})  # type: ignore[arg-type]  # one of three numbers


@pytest.mark.parametrize("name", ["retry_max_times", "retry_queue_nums"])
def test_setting_of_a_group_is_refused_below_0(name: str) -> None:
    with (
        fakemq.Cluster(clock="frozen") as mq,
        pytest.raises(ValueError, match=f"{name} -5: expected a whole number, 0 or more"),
    ):
        mq.group("g").set(**{name: -5})  # type: ignore[arg-type]  # the name is one of them
