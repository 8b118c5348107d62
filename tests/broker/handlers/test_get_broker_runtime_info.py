"""GET_BROKER_RUNTIME_INFO: counters, the store's state, and delayed progress."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.config.model import BrokerConfig
from fakemq.protocol.bodies.kv import KVTable
from fakemq.protocol.codes import RequestCode
from tests.support.broker_lab import BrokerLab, send_header
from tests.support.clients import pull, send
from tests.support.peer import Peer
from tests.support.time import START_MS

MIB = 1 << 20


def info(peer: Peer) -> dict[str, str]:
    return KVTable.decode(peer.ask(RequestCode.GET_BROKER_RUNTIME_INFO).body).table


def test_puts_and_gets_are_counted(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    for _ in range(3):
        send(peer)
    pull(peer)
    lab.clock.advance("11s")
    found = info(peer)
    assert found["brokerVersion"] == "407"
    assert found["bootTimestamp"] == str(START_MS)
    assert found["runtime"] == "[ 0 days, 0 hours, 0 minutes, 11 seconds ]"
    assert found["msgPutTotalTodayNow"] == found["msgGetTotalTodayNow"] == "3"
    assert found["commitLogMinOffset"] == "0"
    assert found["commitLogMaxOffset"] == str(broker.store.max_phy_offset)
    assert found["putTps"] == "0.0  "


def test_disk_usage_is_reported(lab: BrokerLab) -> None:
    broker = lab.broker(memory_limit_bytes=10 * MIB)
    peer = lab.peer(broker.addr)
    assert info(peer)["commitLogDiskRatio"] == "0.0"
    assert info(peer)["commitLogDirCapacity"] == "Total : 10.0 MiB, Free : 10.0 MiB."
    peer.ask(RequestCode.SEND_MESSAGE_V2, send_header(), bytes(2 * MIB))
    found = info(peer)
    assert found["commitLogDiskRatio"] == found["consumeQueueDiskRatio"] == "0.21"
    assert found["commitLogDirCapacity"] == "Total : 10.0 MiB, Free : 8.0 MiB."


def test_progress_of_delay_levels_is_reported(lab: BrokerLab, peer: Peer) -> None:
    assert not [key for key in info(peer) if key.startswith("scheduleMessageOffset")]
    for _ in range(2):
        header = send_header(properties="DELAY\x011")
        peer.ask(RequestCode.SEND_MESSAGE_V2, header, b"later")
        lab.clock.advance("2s")
    peer.ask(RequestCode.SEND_MESSAGE_V2, send_header(properties="DELAY\x011"), b"later")
    assert info(peer)["scheduleMessageOffset_1"] == "2,3"


def test_earliest_store_time_is_reported_when_java_could_read_it(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(max_message_size=200))
    peer = lab.peer(broker.addr)
    assert info(peer)["earliestMessageTimeStamp"] == "-1"
    send(peer)
    assert info(peer)["earliestMessageTimeStamp"] == "-1"
    lab.clock.advance("1s")
    for _ in range(4):
        send(peer)
    assert info(peer)["earliestMessageTimeStamp"] == str(START_MS)


def test_commit_pool_is_reported_when_enabled(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(transient_store_pool_enable=True))
    found = info(lab.peer(broker.addr))
    assert found["remainTransientStoreBufferNumbs"] == "5"
    assert found["remainHowManyDataToCommit"] == "0 B"


def test_counters_begin_anew_after_a_restart_or_reset(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    send(peer)
    lab.clock.advance("1s")
    broker.reset()
    assert info(peer)["putMessageSizeTotal"] == "0"
    send(peer)
    broker.kill()
    broker.start()
    found = info(lab.peer(broker.addr))
    assert (found["putMessageSizeTotal"], found["msgPutTotalTodayNow"]) == ("0", "0")
    assert found["bootTimestamp"] == str(START_MS + 1000)
    assert found["commitLogMaxOffset"] != "0"
