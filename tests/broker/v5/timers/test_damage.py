"""A start finds all timer messages again, whatever became of their three files or of the clock."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fakemq.dump.check_timers import check_timers
from fakemq.errors import StoreError
from fakemq.store.stored_node import StoredNode
from fakemq.store.timer.checkpoint import MARK, MARK_AT, TimerCheckpoint
from tests.support.timed_store import DAY_MS, FILES, TimedStore

Damage = Callable[[TimedStore], None]


@pytest.fixture
def timed(tmp_path: Path) -> Iterator[TimedStore]:
    store = TimedStore(tmp_path / "store")
    yield store
    store.close()


def fill(timed: TimedStore, end: str) -> None:
    """Send 24 messages, of which 8 are delivered; the others wait when the broker ends."""
    for number in range(24):
        timed.send(2 + number % 3 * 300)
        if number % 6 == 5:
            timed.plain()
            timed.advance(400)
    timed.advance(30_000)
    assert len(timed.delivered()) == 8
    timed.end(end)


def missing(name: str) -> Damage:
    def damage(timed: TimedStore) -> None:
        path = timed.root / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    return damage


def patched(name: str, change: Callable[[bytes], bytes]) -> Damage:
    def damage(timed: TimedStore) -> None:
        path = timed.path(name)
        if path.exists():
            path.write_bytes(change(path.read_bytes()))

    return damage


def flipped(at: int) -> Callable[[bytes], bytes]:
    return lambda data: data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]


def every_unit_flipped(field: int) -> Callable[[bytes], bytes]:
    """Flip a bit of a field in all units of a file."""

    def change(data: bytes) -> bytes:
        for at in range(0, len(data) - 68, 52):
            if any(data[at : at + 52]):
                data = flipped(at + field)(data)
        return data

    return change


DAMAGES: dict[str, Damage] = {
    **{f"missing {name}": missing(name) for name in FILES},
    "zeros in timercheck": patched("config/timercheck", lambda data: bytes(len(data))),
    **{
        f"flip in timercheck at {at}": patched("config/timercheck", flipped(at))
        for at in (2, 6, 9, 15, 23, 31, 39, 47, 64, 80, 97)
    },
    "timerlog cut": patched("timerlog", lambda data: data[:104].ljust(len(data), b"\0")),
    "timerlog of zeros": patched("timerlog", lambda data: bytes(len(data))),
    **{
        f"flip in units at {at}": patched("timerlog", every_unit_flipped(at))
        for at in range(0, 44, 3)
    },
    "flip in the wheel": patched("timerwheel", flipped(40)),
}


@pytest.mark.parametrize("end", ["stop", "kill"])
@pytest.mark.parametrize("name", DAMAGES)
def test_start_after_damage_delivers_each_message_once(
    timed: TimedStore, name: str, end: str
) -> None:
    fill(timed, end)
    DAMAGES[name](timed)
    timed.start()
    timed.advance(700_000)
    assert timed.delivered() == dict.fromkeys(timed.acknowledged, 1)
    timed.end("kill")
    timed.start()
    assert timed.said() == [], "the files are whole again"
    timed.advance(700_000)
    assert timed.delivered() == dict.fromkeys(timed.acknowledged, 1)


@pytest.mark.parametrize("name", [name for name in DAMAGES if "wheel" not in name])
def test_start_says_what_it_makes_anew(timed: TimedStore, name: str) -> None:
    fill(timed, "stop")
    DAMAGES[name](timed)
    timed.start()
    assert timed.said()


def test_undamaged_store_starts_without_a_word(timed: TimedStore) -> None:
    for end in ("stop", "kill", "stop"):
        timed.send(100)
        timed.end(end)
        timed.start()
        assert timed.said() == []


def test_files_of_another_store_lose_nothing(timed: TimedStore, tmp_path: Path) -> None:
    other = TimedStore(tmp_path / "other")
    other.advance(60_000)
    other.send(3)
    other.advance(5_000)
    assert other.delivered()
    other.send(300)
    other.end("stop")
    other.close()
    fill(timed, "stop")
    for name in FILES:
        missing(name)(timed)
        copy = shutil.copytree if (other.root / name).is_dir() else shutil.copyfile
        copy(other.root / name, timed.root / name)
    timed.start()
    assert timed.said()
    timed.advance(700_000)
    assert timed.delivered() == dict.fromkeys(timed.acknowledged, 1)


@pytest.mark.parametrize("end", ["stop", "kill"])
@pytest.mark.parametrize("name", FILES)
def test_old_file_delivers_nothing_again(
    timed: TimedStore, tmp_path: Path, name: str, end: str
) -> None:
    fill(timed, "stop")
    path = timed.root / name
    copy = shutil.copytree if path.is_dir() else shutil.copyfile
    copy(path, tmp_path / path.name)
    timed.start()
    for _ in range(3):
        timed.send(1)
        timed.advance(5_000)
    timed.end(end)
    missing(name)(timed)
    copy(tmp_path / path.name, path)
    timed.start()
    timed.advance(700_000)
    assert timed.delivered() == dict.fromkeys(timed.acknowledged, 1)


@pytest.mark.parametrize("end", ["stop", "kill"])
@pytest.mark.parametrize("back_ms", [60_000, DAY_MS, 400 * DAY_MS])
def test_clock_that_is_earlier_at_a_start_loses_nothing(
    timed: TimedStore, back_ms: int, end: str
) -> None:
    fill(timed, "stop")
    timed.skew(-back_ms)
    timed.start()
    sent = [timed.send(10), timed.send(400)]
    timed.end(end)
    timed.start()
    sent.append(timed.send(20))
    timed.advance(30_000)
    assert timed.delivered()[sent[0]] == timed.delivered()[sent[2]] == 1
    timed.end(end)
    timed.start()
    timed.skew(0)
    timed.advance(700_000)
    assert timed.delivered() == dict.fromkeys(timed.acknowledged, 1)


@pytest.mark.parametrize("end", ["stop", "kill"])
@pytest.mark.parametrize("later_ms", [DAY_MS, 19 * DAY_MS, 400 * DAY_MS])
def test_messages_that_are_overdue_at_a_start_come(
    timed: TimedStore, later_ms: int, end: str
) -> None:
    fill(timed, end)
    timed.advance(later_ms)
    timed.start()
    timed.advance(1_000)
    assert timed.delivered() == dict.fromkeys(timed.acknowledged, 1)


def test_message_that_a_lost_log_takes_is_named(timed: TimedStore) -> None:
    timed.plain()
    timed.send(100)
    timed.end("stop")
    log = timed.root / "commitlog" / "00000000000000000000"
    data = log.read_bytes()
    at = data.find(b"rmq_sys_wheel_timer")
    log.write_bytes(data[:at] + b"x" + data[at + 1 :])
    timed.start()
    assert any("where no timer message is" in line for line in timed.said())


def test_recalled_message_does_not_come_after_damage(timed: TimedStore) -> None:
    kept, recalled = timed.send(60), timed.send(60)
    timed.recall(recalled)
    timed.end("kill")
    for name in FILES:
        missing(name)(timed)
    timed.start()
    timed.advance(70_000)
    assert timed.delivered() == {kept: 1}


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_dump_check_finds_nothing_in_whole_files(timed: TimedStore, end: str) -> None:
    fill(timed, end)
    assert list(check_timers(StoredNode(str(timed.root)))) == []
    timed.start()
    timed.skew(-60_000)
    timed.send(10)
    timed.end(end)
    timed.start()
    timed.end("stop")
    assert list(check_timers(StoredNode(str(timed.root)))) == []


def test_dump_check_says_nothing_of_messages_that_came_without_a_unit(timed: TimedStore) -> None:
    fill(timed, "kill")
    missing("timerlog")(timed)
    path = timed.root / "config" / "timercheck"
    checkpoint = TimerCheckpoint()
    data = path.read_bytes()
    checkpoint.decode(data)
    _, checkpoint.read_before_ms, checkpoint.log_end, _, checkpoint.anchor = MARK.unpack_from(
        data, MARK_AT
    )
    checkpoint.last_read_ms -= DAY_MS
    path.write_bytes(checkpoint.marked(24).ljust(len(data), b"\0"))
    found = [one.text for one in check_timers(StoredNode(str(timed.root)))]
    assert sum("no unit of the timer log" in one for one in found) == 24 - 8


def test_dump_check_says_nothing_of_a_checkpoint_behind_a_crash(timed: TimedStore) -> None:
    fill(timed, "stop")
    path = timed.root / "config" / "timercheck"
    checkpoint = TimerCheckpoint()
    data = path.read_bytes()
    checkpoint.decode(data)
    path.write_bytes(checkpoint.marked(1_000).ljust(len(data), b"\0"))
    assert list(check_timers(StoredNode(str(timed.root)))) == []
    timed.start()
    assert timed.said() == []


@pytest.mark.parametrize("name", DAMAGES)
def test_dump_check_finds_damage(timed: TimedStore, name: str) -> None:
    fill(timed, "stop")
    DAMAGES[name](timed)
    assert list(check_timers(StoredNode(str(timed.root))))


@pytest.mark.parametrize("name", ["timerwheel", "config/timercheck"])
def test_check_names_a_file_of_a_wrong_size_in_the_words_of_the_start(
    timed: TimedStore, name: str
) -> None:
    fill(timed, "stop")
    assert not list(check_timers(StoredNode(str(timed.root))))
    path = timed.root / name
    path.write_bytes(path.read_bytes()[:1_007])
    found = [one for one in check_timers(StoredNode(str(timed.root))) if one.file == name]
    with pytest.raises(StoreError) as caught:
        timed.start()
    assert [f"{timed.root}/{one.file}: {one.text}" for one in found] == [str(caught.value)]
