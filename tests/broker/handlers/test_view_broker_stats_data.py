"""VIEW_BROKER_STATS_DATA: sums and rates of the last minute, hour and day."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol.bodies.stats import BrokerStatsData, BrokerStatsItem
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.admin import ViewBrokerStatsDataRequestHeader
from fakemq.protocol.headers.send import SendMessageRequestHeaderV2
from tests.support.broker_lab import BrokerLab, send_header
from tests.support.clients import GROUP, TOPIC, pull, send
from tests.support.peer import Peer

NOTHING = BrokerStatsItem()


def ask(peer: Peer, name: str, key: str) -> RemotingCommand:
    header = ViewBrokerStatsDataRequestHeader(stats_name=name, stats_key=key)
    return peer.ask(RequestCode.VIEW_BROKER_STATS_DATA, header)


def view(peer: Peer, name: str, key: str) -> BrokerStatsData:
    response = ask(peer, name, key)
    assert (response.code, response.remark) == (0, None)
    return BrokerStatsData.decode(response.body)


def delayed() -> SendMessageRequestHeaderV2:
    return send_header(properties="DELAY\x013")


def test_sends_and_pulls_are_sampled_every_ten_seconds(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    for _ in range(4):
        send(peer)
    pull(peer)
    assert view(peer, "TOPIC_PUT_NUMS", TOPIC) == BrokerStatsData(NOTHING, NOTHING, NOTHING)
    lab.clock.advance("10s")
    assert view(peer, "TOPIC_PUT_NUMS", TOPIC).stats_minute == BrokerStatsItem(4, 0.4, 1.0)
    assert view(peer, "GROUP_GET_NUMS", f"{TOPIC}@{GROUP}").stats_minute == (
        BrokerStatsItem(4, 0.4, 4.0)
    )
    assert view(peer, "BROKER_GET_NUMS", "DefaultCluster").stats_minute == (
        BrokerStatsItem(4, 0.4, 0.0)
    )
    lab.clock.advance("10m")
    peer = lab.peer(broker.addr)  # the other one has been idle for too long
    data = view(peer, "TOPIC_PUT_NUMS", TOPIC)
    assert data.stats_minute == NOTHING
    assert data.stats_hour == BrokerStatsItem(4, 4 / 600, 1.0)


def test_sizes_are_those_of_the_records(lab: BrokerLab, peer: Peer) -> None:
    send(peer)
    pulled = len(pull(peer).body)
    lab.clock.advance("10s")
    for name, key in (("TOPIC_PUT_SIZE", TOPIC), ("GROUP_GET_SIZE", f"{TOPIC}@{GROUP}")):
        minute = view(peer, name, key).stats_minute
        assert minute is not None
        assert minute.sum == pulled


def test_delayed_message_is_put_twice_and_got_once(lab: BrokerLab, peer: Peer) -> None:
    peer.ask(RequestCode.SEND_MESSAGE_V2, delayed(), b"later")
    lab.clock.advance("20s")
    schedule = "SCHEDULE_TOPIC_XXXX"
    for name, key in (
        ("TOPIC_PUT_NUMS", schedule),
        ("QUEUE_PUT_NUMS", f"{schedule}@2"),
        ("QUEUE_GET_NUMS", f"{schedule}@2@SCHEDULE_CONSUMER"),
        ("GROUP_GET_NUMS", f"{schedule}@SCHEDULE_CONSUMER"),
        ("TOPIC_PUT_NUMS", TOPIC),
    ):
        minute = view(peer, name, key).stats_minute
        assert minute is not None, name
        assert minute.sum == 1, name
    total = view(peer, "BROKER_PUT_NUMS", "DefaultCluster").stats_minute
    assert total is not None
    assert total.sum == 2


def test_unused_counter_is_not_found(peer: Peer) -> None:
    for name, key in (("TOPIC_PUT_NUMS", "x"), ("X", TOPIC), ("COMMERCIAL_SEND_TIMES", "x")):
        response = ask(peer, name, key)
        assert (response.code, response.remark) == (
            ResponseCode.SYSTEM_ERROR,
            f"The stats <{name}> <{key}> not exist",
        )
    none = peer.ask(RequestCode.VIEW_BROKER_STATS_DATA)
    assert none.remark == "The stats <null> <null> not exist"
