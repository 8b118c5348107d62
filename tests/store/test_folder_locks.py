"""One broker at a time in each folder that is written, and none whose files are gone."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from fakemq.errors import StoreError
from fakemq.events.core import Warned
from fakemq.store.directory_lock import DirectoryLock
from tests.support.cluster_lab import DISK_TIMEOUT, OK, ClusterLab
from tests.support.disk_lab import DiskLab


def _with_log(root: Path, folders: str) -> DiskLab:
    lab = DiskLab(root, store_path_commit_log=folders)
    lab.start()
    return lab


@pytest.mark.parametrize("second", ["{0}/log", "{0}/other,{0}/log", "{0}/link", "{0}/a/../log"])
def test_log_of_another_store_is_refused(tmp_path: Path, second: str) -> None:
    (tmp_path / "a").mkdir()
    lab = _with_log(tmp_path / "a", f"{tmp_path}/log")
    lab.put(b"mine")
    (tmp_path / "link").symlink_to(tmp_path / "log")
    with pytest.raises(StoreError, match="another broker has this folder open"):
        _with_log(tmp_path / "b", second.format(tmp_path))
    assert lab.bodies() == [b"mine"]
    lab.stop()
    other = _with_log(tmp_path / "b", second.format(tmp_path))
    assert other.store.log.max_offset > 0
    other.stop()


def test_log_folder_of_another_root_is_refused(tmp_path: Path) -> None:
    with DiskLab(tmp_path / "a"):
        with pytest.raises(StoreError, match="a/commitlog: another broker has this folder open"):
            _with_log(tmp_path / "b", f"{tmp_path}/a/commitlog")
        with pytest.raises(StoreError, match="a: another broker has this folder open"):
            _with_log(tmp_path / "b", f"{tmp_path}/a")


@pytest.mark.parametrize("name", ["consumequeue", "index", "config"])
def test_linked_folder_of_another_store_is_refused(tmp_path: Path, name: str) -> None:
    for root in ("a", "b"):
        (tmp_path / root).mkdir()
    (tmp_path / "a" / name).mkdir()
    (tmp_path / "b" / name).symlink_to(tmp_path / "a" / name)
    with (
        DiskLab(tmp_path / "a"),
        pytest.raises(StoreError, match=f"b/{name}: another broker has this folder open"),
    ):
        DiskLab(tmp_path / "b").start()


def test_linked_topic_of_another_store_is_refused(tmp_path: Path) -> None:
    lab = DiskLab(tmp_path / "a")
    lab.start()
    lab.put()
    lab.kill()
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    shutil.rmtree(tmp_path / "b/consumequeue/orders")
    shutil.move(tmp_path / "a/consumequeue/orders", tmp_path / "orders")
    for root in ("a", "b"):
        (tmp_path / root / "consumequeue/orders").symlink_to(tmp_path / "orders")
    with DiskLab(tmp_path / "a"), pytest.raises(StoreError, match="another broker has this"):
        DiskLab(tmp_path / "b").start()


def test_lock_leaves_no_file_in_a_log_folder_and_ends_with_the_broker(tmp_path: Path) -> None:
    lab = _with_log(tmp_path / "a", f"{tmp_path}/log")
    assert os.listdir(tmp_path / "log") == []  # Java takes each file there for one of the log
    lab.kill()
    _with_log(tmp_path / "b", f"{tmp_path}/log").stop()


def test_stopped_broker_unlocks_its_folders_for_all_copies(tmp_path: Path) -> None:
    log = tmp_path / "log"
    lab = _with_log(tmp_path / "a", str(log))
    # As a forked child has them, until its first act.
    copies = [
        os.dup(int(number.name))
        for number in Path("/proc/self/fd").iterdir()
        if os.path.realpath(number) == os.path.realpath(log)
    ]
    try:
        lab.stop()
        _with_log(tmp_path / "b", str(log)).stop()
    finally:
        for copy in copies:
            os.close(copy)
    assert copies


def test_forked_child_keeps_no_lock(tmp_path: Path) -> None:
    lab = _with_log(tmp_path / "a", f"{tmp_path}/log")
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(write)
        os.read(read, 1)  # until the parent ends it
        os._exit(0)
    try:
        lab.stop()
        _with_log(tmp_path / "b", f"{tmp_path}/log").stop()
    finally:
        os.close(write)
        os.waitpid(child, 0)
        os.close(read)


# -- files that are gone ------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["delete", "move", "replace"])
def test_store_deleted_below_a_running_broker_acknowledges_nothing(
    tmp_path: Path, how: str
) -> None:
    store = tmp_path / "store"
    with ClusterLab(store=str(store), flush="SYNC_FLUSH") as lab:
        assert lab.send(b"kept") == OK
        if how == "replace":
            shutil.copytree(store, tmp_path / "copy")
        if how == "delete":
            shutil.rmtree(store)
        else:
            store.rename(tmp_path / "moved")
        if how == "replace":
            (tmp_path / "copy").rename(store)
        assert lab.send(b"lost") == DISK_TIMEOUT
        why = "Another file has replaced it" if how == "replace" else "It was deleted or moved away"
        (said,) = [one.text for one in lab.mq.journal.find(Warned) if why in one.text]
        assert "commitlog" in said
        assert said.endswith("messages are refused until the next start")
        assert lab.send(b"refused") not in (OK, DISK_TIMEOUT)


def test_store_deleted_under_async_flush_is_noticed_at_the_next_flush(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with ClusterLab(store=str(store), flush="ASYNC_FLUSH") as lab:
        assert lab.send() == OK
        lab.mq.clock.advance("20s")
        shutil.rmtree(store)
        assert lab.send() == OK
        lab.mq.clock.advance("20s")
        assert any("It was deleted" in one.text for one in lab.mq.journal.find(Warned))
        assert lab.send() != OK


def test_deleted_topic_is_no_missing_file(tmp_path: Path) -> None:
    with ClusterLab(store=str(tmp_path), flush="SYNC_FLUSH", topics={"orders": 1, "x": 1}) as lab:
        lab.mq.seed("x", [b"1"])
        lab.mq.topic("x").delete()
        lab.mq.clock.advance("61s")
        assert lab.send() == OK
        assert not lab.mq.journal.find(Warned)


def test_folder_that_could_not_be_opened_is_locked_by_the_next_claim(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    locks = [DirectoryLock(str(tmp_path / name)) for name in "ab"]
    for lock in locks:
        lock.take()
    locks[0].claim(str(folder))  # it is missing
    folder.mkdir()
    locks[0].claim(str(folder))
    with pytest.raises(StoreError, match="another broker has this folder open"):
        locks[1].claim(str(folder))
    for lock in locks:
        lock.release()
