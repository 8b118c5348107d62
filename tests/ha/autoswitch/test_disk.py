"""What a broker under a controller keeps in its directory."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from fakemq.broker.broker import Broker
from fakemq.config.spec import cluster_spec
from fakemq.config.v5.model import config5
from fakemq.core.cluster import ClusterCore
from fakemq.ha.autoswitch.confirmed_store import ConfirmedStore
from fakemq.ha.autoswitch.service import AutoSwitchHAService
from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.broker_lab import send_header
from tests.support.peer import Peer


def started(
    folder: Path, *, all_ack: bool = False
) -> tuple[ClusterCore, Broker, AutoSwitchHAService]:
    """A broker under a controller, without a role."""
    spec = cluster_spec(
        clock="frozen",
        start_at="2023-11-14T22:13:20Z",
        seed=1,
        reference="5.5.0",
        store=str(folder),
        topics={"orders": 1},
        config={"mappedFileSizeCommitLog": 1 << 16},
    )
    for config in spec.broker_configs:
        config5(config).enable_controller_mode = True
        config5(config).all_ack_in_sync_state_set = all_ack
    core = ClusterCore(spec, ["127.0.0.1:9876"], [10911])
    core.start()
    (broker,) = core.brokers.values()
    ha = broker.replication()
    assert isinstance(ha, AutoSwitchHAService)
    ha.own_id = 1
    return core, broker, ha


def lead(broker: Broker, ha: AutoSwitchHAService, epoch: int) -> None:
    broker.store.role.take("SYNC_MASTER")
    ha.take_set(frozenset({1}), epoch)
    assert ha.change_to_master(epoch)


def send(core: ClusterCore, broker: Broker, properties: str = "") -> None:
    peer = Peer(core.network, core.clock, core.journal, broker.addr)
    header = send_header(topic="orders", properties=properties)
    assert peer.ask(RequestCode.SEND_MESSAGE_V2, header, b"hello").code == ResponseCode.SUCCESS


def test_epochs_and_confirm_offset_survive_a_restart(tmp_path: Path) -> None:
    core, broker, ha = started(tmp_path)
    lead(broker, ha, 1)
    send(core, broker)
    end = broker.store.max_phy_offset
    lead(broker, ha, 3)
    store = broker.store
    assert isinstance(store, ConfirmedStore)
    assert store.confirm_offset == end
    core.stop()
    (path,) = tmp_path.rglob("epochFileCheckpoint")
    assert path.read_text().splitlines()[2:] == ["1-0", f"3-{end}"]
    checkpoint = path.with_name("checkpoint").read_bytes()
    assert struct.unpack_from(">5q", checkpoint)[3:] == (0, end)
    core, broker, ha = started(tmp_path)
    assert ha.confirm_offset == end
    assert [entry[:2] for entry in ha.epochs] == [(1, 0), (3, end)]
    lead(broker, ha, 4)
    send(core, broker)
    assert broker.store.max_offset_in_queue("orders", 0) == 2
    core.stop()


def test_confirm_offset_behind_the_log_is_corrected(tmp_path: Path) -> None:
    """store/CommitLog.java#recoverNormally (5.5.0)"""
    core, broker, ha = started(tmp_path)
    lead(broker, ha, 1)
    send(core, broker)
    end = broker.store.max_phy_offset
    core.stop()
    (path,) = tmp_path.rglob("checkpoint")
    with path.open("r+b") as file:
        file.seek(32)
        file.write(struct.pack(">q", 1 << 40))
    core, broker, ha = started(tmp_path)
    assert ha.confirm_offset == end
    core.stop()


def test_cut_log_has_no_entries_behind_it(tmp_path: Path) -> None:
    core, broker, ha = started(tmp_path)
    lead(broker, ha, 1)
    for _ in range(3):
        send(core, broker)
    store = broker.store
    assert isinstance(store, ConfirmedStore)
    store.index.catch_up()
    whole = store.max_phy_offset // 3
    assert not store.can_cut(whole + 1)
    assert store.can_cut(whole * 3)
    assert store.can_cut(whole * 2)
    store.cut(whole * 2)
    assert (store.max_phy_offset, store.max_offset_in_queue("orders", 0)) == (2 * whole, 2)
    send(core, broker)
    messages = list(store.messages_in_queue("orders", 0))
    assert [message.queue_offset for message in messages] == [0, 1, 2]
    store.index.catch_up()
    assert store.index.files[-1].end_phy_offset == 2 * whole
    core.stop()


@pytest.mark.parametrize(
    ("is_killed", "shown"),
    [
        (True, 1),  # store/CommitLog.java#recoverAbnormally (5.5.0)
        (False, 3),  # store/CommitLog.java#recoverNormally (5.5.0)
    ],
)
def test_restart_shows_what_is_confirmed_or_after_a_clean_stop_all(
    tmp_path: Path, *, is_killed: bool, shown: int
) -> None:
    core, broker, ha = started(tmp_path, all_ack=True)
    lead(broker, ha, 1)
    send(core, broker, "WAIT\x01false")
    end = broker.store.max_phy_offset
    ha.take_set(frozenset({1, 2}), 2)  # the other one has not connected yet
    for _ in range(2):
        send(core, broker, "WAIT\x01false")
    assert broker.store.max_offset_in_queue("orders", 0) == 1
    if is_killed:
        broker.kill()
    core.stop()
    core, broker, ha = started(tmp_path, all_ack=True)
    store = broker.store
    assert isinstance(store, ConfirmedStore)
    assert store.max_phy_offset == 3 * end
    assert store.max_offset_in_queue("orders", 0) == shown
    store.index.catch_up()
    assert store.index.files[-1].end_phy_offset == (shown - 1) * end
    lead(broker, ha, 2)
    assert store.max_offset_in_queue("orders", 0) == 3
    send(core, broker)
    messages = list(store.messages_in_queue("orders", 0))
    assert [message.queue_offset for message in messages] == [0, 1, 2, 3]
    core.stop()


def test_kill_within_a_record_that_arrives_shows_the_records_before_it(tmp_path: Path) -> None:
    """What is confirmed may end within a record: a slave reports bytes."""
    core, broker, ha = started(tmp_path, all_ack=True)
    lead(broker, ha, 1)
    send(core, broker, "WAIT\x01false")
    end = broker.store.max_phy_offset
    ha.take_set(frozenset({1, 2}), 2)
    for _ in range(2):
        send(core, broker, "WAIT\x01false")
    broker.kill()
    core.stop()
    (path,) = tmp_path.rglob("checkpoint")
    with path.open("r+b") as file:
        file.seek(32)
        file.write(struct.pack(">q", 2 * end + 10))
    core, broker, ha = started(tmp_path, all_ack=True)
    assert broker.store.max_offset_in_queue("orders", 0) == 2
    lead(broker, ha, 2)
    assert broker.store.max_offset_in_queue("orders", 0) == 3
    core.stop()
