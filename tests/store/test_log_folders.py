"""A commit log in several folders: where files go, and what a start finds there."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from fakemq.config.model import BrokerConfig
from fakemq.errors import StoreError
from fakemq.events.core import Warned
from fakemq.store import image as images
from fakemq.store.directory_files import DiskCapacity
from tests.support.disk_lab import DiskLab

LOG_BYTES = 4096
GIB = 1 << 30


def lab(tmp_path: Path, *names: str, read_only: tuple[str, ...] = ()) -> DiskLab:
    def paths(names: tuple[str, ...]) -> str:
        return ",".join(str(tmp_path / name) for name in names) + ","

    return DiskLab(
        tmp_path / "store",
        log_bytes=LOG_BYTES,
        store_path_commit_log=paths(names or ("a", "b", "c")),
        read_only_commit_log_store_paths=paths(read_only),
    )


def fill(store: DiskLab, files: int) -> list[bytes]:
    """Put messages, one for each file; return their bodies."""
    bodies = [b"%d" % number + bytes(3000) for number in range(files)]
    for body in bodies:
        assert store.put(body).ok
    return bodies


def files_in(tmp_path: Path, *names: str) -> dict[str, list[int]]:
    """Return the numbers of the log's files by folder."""
    return {
        name: sorted(int(path.name) // LOG_BYTES for path in (tmp_path / name).iterdir())
        for name in names
    }


def test_files_go_round_the_folders_in_the_order_of_their_names(tmp_path: Path) -> None:
    with lab(tmp_path, "c", "a", "b") as store:
        fill(store, 7)
    assert files_in(tmp_path, "a", "b", "c") == {"a": [0, 3, 6], "b": [1, 4], "c": [2, 5]}
    assert not (tmp_path / "store" / "commitlog").exists()


@pytest.mark.parametrize("how", ["stop", "kill", "lose"])
def test_start_reads_all_folders(tmp_path: Path, how: str) -> None:
    store = lab(tmp_path)
    store.start()
    bodies = fill(store, 8)
    if how == "stop":
        store.stop()
    else:
        store.kill(lose_unsynced=how == "lose")
    store = lab(tmp_path)
    with store:
        found = store.bodies()
        assert found == bodies[: len(found)]
        assert how == "lose" or found == bodies
        fill(store, 3)
        assert len(store.bodies()) == len(found) + 3


def test_files_stay_where_they_are_when_folders_change(tmp_path: Path) -> None:
    with lab(tmp_path, "b") as store:
        bodies = fill(store, 3)
    with lab(tmp_path, "a", "b") as store:
        assert store.bodies() == bodies
        bodies += fill(store, 3)
    assert files_in(tmp_path, "a", "b") == {"a": [4], "b": [0, 1, 2, 3, 5]}
    shutil.move(tmp_path / "b" / f"{0:020}", tmp_path / "a" / f"{0:020}")
    with lab(tmp_path, "a", "b") as store:
        assert store.bodies() == bodies


def test_read_only_folder_gets_no_new_file(tmp_path: Path) -> None:
    with lab(tmp_path, "a", "b") as store:
        bodies = fill(store, 4)
    with lab(tmp_path, "a", "b", "c", read_only=("a",)) as store:
        assert store.bodies() == bodies
        fill(store, 4)
    assert files_in(tmp_path, "a", "b", "c") == {"a": [0, 2], "b": [1, 3, 4, 6], "c": [5, 7]}
    with lab(tmp_path, "b", "c", read_only=("a",)) as store:
        assert len(store.bodies()) == 8


def full_disks(store: DiskLab, *names: str) -> None:
    def disk(folder: str) -> DiskCapacity:
        return DiskCapacity(GIB, GIB // 8 if Path(folder).name in names else GIB // 2)

    store.files.disk = disk


def test_new_files_avoid_folders_with_full_disks(tmp_path: Path) -> None:
    store = lab(tmp_path)
    full_disks(store, "a", "c")
    with store:
        store.store.retention.start()
        fill(store, 1)
        assert files_in(tmp_path, "a") == {"a": [0]}, "nothing was looked at yet"
        store.advance(10_000)
        fill(store, 3)
        assert store.store.used_ratio() == 0.5, "as long as one has room"
        full_disks(store)
        store.advance(10_000)
        fill(store, 3)
    assert files_in(tmp_path, "a", "b", "c") == {"a": [0, 6], "b": [1, 2, 3, 4], "c": [5]}


def test_all_folders_are_used_if_all_disks_are_full(tmp_path: Path) -> None:
    store = lab(tmp_path)
    full_disks(store, "a", "b", "c")
    with store:
        store.store.retention.start()
        fill(store, 1)
        store.advance(10_000)
        fill(store, 3)
    assert files_in(tmp_path, "a", "b", "c") == {"a": [0, 3], "b": [1], "c": [2]}


def test_ratio_of_each_folder_is_shown(tmp_path: Path) -> None:
    store = lab(tmp_path, "a", "b")
    full_disks(store, "b")
    with store:
        assert store.store.disk_space.rounded_ratios() == {
            str(tmp_path / "a"): 0.5,
            str(tmp_path / "b"): 0.88,
        }
        assert store.store.disk_space.rounded_ratio() == 0.5


def test_room_is_that_of_the_disk_of_the_last_file(tmp_path: Path) -> None:
    store = lab(tmp_path, "a", "b")
    with store:
        fill(store, 2)
        store.files.disk = lambda folder: DiskCapacity(GIB, 0 if folder.endswith("b") else GIB)
        store.files._room_bytes = 0
        refused = store.put(b"x")
        assert not refused.ok
        assert refused.reason == (f"less than 16 MiB is free on the disk of {tmp_path / 'b'}")


def test_old_files_are_deleted_in_all_folders(tmp_path: Path) -> None:
    with lab(tmp_path) as store:
        bodies = fill(store, 7)
        assert store.store.delete_expired_files(4 * LOG_BYTES) == 4
        assert store.bodies() == bodies[4:]
    assert files_in(tmp_path, "a", "b", "c") == {"a": [6], "b": [4], "c": [5]}
    with lab(tmp_path) as store:
        assert store.bodies() == bodies[4:]


def test_empty_file_that_java_made_ahead_in_another_folder_is_passed_over(tmp_path: Path) -> None:
    with lab(tmp_path, "a", "b") as store:
        bodies = fill(store, 3)
    ahead = tmp_path / "b" / f"{0:020}"
    ahead.write_bytes(bytes(LOG_BYTES))
    with lab(tmp_path, "b", "a") as store:
        assert store.bodies() == bodies
        fill(store, 2)
        store.store.delete_expired_files(LOG_BYTES)
    assert not ahead.exists()
    with lab(tmp_path, "a", "b") as store:
        assert len(store.bodies()) == 4


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    with lab(tmp_path, "a", "b") as store:
        fill(store, 3)
    shutil.copy(tmp_path / "a" / f"{0:020}", tmp_path / "b" / f"{0:020}")
    with pytest.raises(StoreError, match="the log has one file of this name; move the wrong one"):
        lab(tmp_path, "a", "b").start()


def test_missing_folder_is_a_gap(tmp_path: Path) -> None:
    with lab(tmp_path) as store:
        fill(store, 4)
    with pytest.raises(StoreError, match="is missing before"):
        lab(tmp_path, "a", "b").start()


def test_odd_file_in_a_second_folder_is_refused(tmp_path: Path) -> None:
    with lab(tmp_path, "a", "b") as store:
        fill(store, 2)
    (tmp_path / "b" / "7").write_bytes(bytes(LOG_BYTES))
    with pytest.raises(StoreError, match="no file of 4096 bytes is called so"):
        lab(tmp_path, "a", "b").start()


def test_link_to_nothing_in_a_second_folder_is_refused(tmp_path: Path) -> None:
    with lab(tmp_path, "a", "b") as store:
        fill(store, 2)
    (tmp_path / "b" / f"{2 * LOG_BYTES:020}").symlink_to(tmp_path / "outside")
    with pytest.raises(StoreError, match="link to nothing"):
        lab(tmp_path, "a", "b").start()
    assert not (tmp_path / "outside").exists()


def test_copy_is_read_from_all_folders(tmp_path: Path) -> None:
    store = lab(tmp_path)
    with store:
        fill(store, 5)
    paths = store.files.log_paths
    found = images.read(str(store.root), BrokerConfig(), paths)
    assert len([path for path in found.files if path.startswith("commitlog/")]) == 5


def test_random_changes_of_folders_lose_nothing(tmp_path: Path) -> None:
    chosen = random.Random(7)
    bodies: list[bytes] = []
    used: set[str] = set()
    for _ in range(12):
        names = chosen.sample("abcd", chosen.randint(1, 4))
        old = sorted(used - set(names))
        store = lab(tmp_path, *names, read_only=tuple(old))
        store.start()
        assert store.bodies() == bodies
        assert not [one.text for one in store.journal.find(Warned)]
        bodies += fill(store, chosen.randint(0, 4))
        used |= set(names)
        chosen.choice([store.stop, store.kill])()
