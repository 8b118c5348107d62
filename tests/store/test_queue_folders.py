"""Topics and queue ids that would lead outside their folder, on each way into a store."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.clock.node_clock import NodeClock
from fakemq.dump.check import check
from fakemq.errors import StoreError
from fakemq.events import Warned
from fakemq.protocol.batch import BatchMember, encode_batch
from fakemq.store import image as images
from fakemq.store.inner_message import inner_message
from fakemq.store.queue_folders import NoQueueError, queue_folder, queue_id_of
from fakemq.store.replica import Replica
from fakemq.store.results import PutMessageStatus
from fakemq.store.stored_node import StoredNode
from tests.support.disk_lab import DiskLab
from tests.support.odd_records import rename
from tests.support.replication import log_bytes, same_log
from tests.support.store_lab import StoreLab

NO_QUEUES = [
    ("../../x", 0),
    ("or/0", 0),
    ("or\0ers", 0),
    ("..", 0),
    ("", 0),
    ("é" * 80, 0),
    ("or\ud800", 0),
    ("orders", -1),
    ("orders", 1 << 31),
]
IN_LOGS = [("../../", 0), ("or/0/1", 0), ("or\0ers", 0), ("orders", -1), ("orders", -(1 << 31))]
"""What another program's log may have instead of ``orders`` queue 0."""


@pytest.fixture(params=["memory", "directory"])
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> StoreLab | DiskLab:
    if request.param == "memory":
        return StoreLab()
    lab = DiskLab(tmp_path / "store")
    lab.start()
    return lab


@pytest.mark.parametrize(("topic", "queue_id"), NO_QUEUES)
def test_put_is_refused_when_no_store_can_have_the_queue(
    lab: StoreLab | DiskLab, topic: str, queue_id: int, tmp_path: Path
) -> None:
    lab.put(b"first")
    end = lab.store.max_phy_offset
    batch = inner_message(topic, queue_id, encode_batch([BatchMember(b"one")]))
    results = [
        lab.put(b"x", topic, queue_id),
        lab.put(b"x", topic, queue_id, "DELAY\x013"),
        lab.store.put_messages(batch),
    ]
    for result in results:
        assert result.status is PutMessageStatus.MESSAGE_ILLEGAL
        assert "is kept" in result.reason
    assert lab.store.max_phy_offset == end
    assert lab.store.queues.topics() == {"orders"}
    assert [path.name for path in tmp_path.iterdir()] in ([], ["store"])


@given(st.text(st.sampled_from("./\\\0ab\ud800é"), max_size=130), st.integers())
def test_folder_has_three_parts_when_there_is_one(topic: str, queue_id: int) -> None:
    try:
        folder = queue_folder(topic, queue_id)
    except NoQueueError:
        return
    first, name, last = folder.split("/")
    assert (first, name, queue_id_of(last)) == ("consumequeue", topic, queue_id)


@pytest.mark.parametrize("name", ["", "-1", "+1", "01", "²", "٣", "2147483648", "9" * 5_000, "a"])
def test_folder_is_no_queue_when_its_name_is_no_queue_id(name: str) -> None:
    assert queue_id_of(name) is None


@pytest.mark.parametrize(("topic", "queue_id"), IN_LOGS)
@pytest.mark.parametrize("how", ["stop", "kill"])
def test_recovery_passes_over_records_without_a_queue(
    tmp_path: Path, topic: str, queue_id: int, how: str
) -> None:
    root = tmp_path / "store"
    with DiskLab(root) as lab:
        for body in (b"one", b"two", b"three"):
            lab.put(body)
        starts = [offset for offset, _ in lab.store.log.records(0, lab.store.max_phy_offset)]
        for start in starts[:2]:
            rename(lab.store, start, topic, queue_id)
        if how == "kill":
            lab.kill()
    shutil.rmtree(root / "consumequeue")
    for begin in ("at first", "again"):
        with DiskLab(root) as lab:
            assert lab.bodies() == [b"three"], begin
            assert lab.store.queues.topics() == {"orders"}
            assert lab.store.look_message_by_offset(starts[1]) is not None
            if begin == "at first":
                (repair,) = lab.repairs()
                assert repair.why.startswith("passed over: no queue")
            assert not list(check(StoredNode(str(root)), lambda size_bytes: None))
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


@pytest.mark.parametrize(("topic", "queue_id"), IN_LOGS)
def test_slave_passes_over_records_without_a_queue(
    lab: StoreLab | DiskLab, topic: str, queue_id: int, tmp_path: Path
) -> None:
    master = StoreLab()
    for body in (b"one", b"two", b"three"):
        master.put(body)
    starts = [offset for offset, _ in master.store.log.records(0, master.store.max_phy_offset)]
    for start in starts[:2]:
        rename(master.store, start, topic, queue_id)
    replica = Replica(lab.store, NodeClock(lab.clock, "slave"), lab.journal, "slave")
    replica.append(0, log_bytes(master.store, 0, master.store.max_phy_offset))
    replica.dispatch()
    assert same_log(master.store, lab.store)
    assert [one.body for one in lab.store.messages_in_queue("orders", 0, 2)] == [b"three"]
    assert lab.store.queues.topics() == {"orders"}
    (warning,) = lab.journal.find(Warned)
    assert "passed over: no queue" in warning.text
    assert [path.name for path in tmp_path.iterdir()] in ([], ["store"])


@pytest.mark.parametrize(("topic", "queue_id"), IN_LOGS)
def test_image_of_a_directory_has_no_such_queue(tmp_path: Path, topic: str, queue_id: int) -> None:
    with DiskLab(tmp_path / "store") as lab:
        lab.put(b"one")
        rename(lab.store, 0, topic, queue_id)
        config = lab.config
    shutil.rmtree(tmp_path / "store" / "consumequeue")
    image = images.read(str(tmp_path / "store"), config)
    assert not [path for path in image.files if path.startswith("consumequeue")]
    with DiskLab(tmp_path / "other") as lab:
        images.restore(lab.store, image, 0)
        assert lab.store.look_message_by_offset(0) is not None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "store"]


def test_dump_reads_no_file_outside_the_store(tmp_path: Path) -> None:
    with DiskLab(tmp_path / "store") as lab:
        lab.put(b"one", topic="ab-ab-other")
        rename(lab.store, 0, "../../other")
    shutil.rmtree(tmp_path / "store" / "consumequeue")
    outside = tmp_path / "other" / "0"
    outside.mkdir(parents=True)
    (outside / f"{0:020}").write_bytes(bytes(1_000))
    node = StoredNode(str(tmp_path / "store"))
    assert node.queue("../../other", 0) is None
    files = {finding.file.split("/")[0] for finding in check(node, lambda size_bytes: None)}
    assert files == {"config"}  # a store without a broker has no such files


def test_start_is_refused_when_a_folder_is_no_topic(tmp_path: Path) -> None:
    with DiskLab(tmp_path) as lab:
        lab.put(b"one")
    odd = tmp_path / "consumequeue" / ("x" * 200) / "0"
    odd.mkdir(parents=True)
    (odd / f"{0:020}").write_bytes(bytes(1_000))
    lab = DiskLab(tmp_path)
    with pytest.raises(StoreError, match="more than 127; move it away"):
        lab.start()
