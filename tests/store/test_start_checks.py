"""What a start says of a store directory: nothing of a whole one, a line of each damage."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Literal

import pytest
from click.testing import CliRunner

from fakemq.cli import main
from fakemq.clock.slices import finished
from fakemq.events import Warned
from fakemq.protocol.topics import TRANS_CHECK_MAX_TIME_TOPIC, TRANS_HALF_TOPIC
from fakemq.store import start_check
from fakemq.store.findings import NO_TOPIC, OWN_TOPICS, Topics
from fakemq.store.results import PutMessageStatus
from tests.support.crashes import Crashes
from tests.support.disk_lab import DiskLab
from tests.support.mixed_life import REFERENCES
from tests.support.time import START_MS


@pytest.mark.parametrize("keyed", [0, 5])
def test_start_after_messages_without_keys_repairs_nothing(tmp_path: Path, keyed: int) -> None:
    with DiskLab(tmp_path) as lab:
        for number in range(keyed + 5):
            lab.put(properties="KEYS\x01k\x02" if number < keyed else "")
    for stored in (0, 1):
        with DiskLab(tmp_path) as lab:
            assert lab.repairs() == []
            found = finished(lab.store.query_message("orders", "k", 64, 0, 2 * START_MS)).buffers
            assert len(found) == keyed + stored
            if not stored:
                lab.put()


LOG = "commitlog/00000000000000000000"
QUEUE = "consumequeue/orders/0/00000000000000000000"


def written(root: Path, *, crash: bool = False, **config: int) -> None:
    """A store of two queues and of several log files, whose last records are in queue 1."""
    lab = DiskLab(root, log_bytes=2_000, queue_units=10, **config)
    lab.start()
    for number in range(60):
        lab.put(b"%03d" % number * 20, queue_id=number // 50, properties="TAGS\x01t\x02")
        lab.advance(10)
    lab.kill() if crash else lab.stop()


def edit(path: Path, offset: int, data: bytes) -> None:
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(data)


def flip(path: Path, offset: int) -> None:
    edit(path, offset, bytes([path.read_bytes()[offset] ^ 1]))


def reported(root: Path, topics: Topics | None = None) -> list[str]:
    """What a start warns of."""
    lab = DiskLab(root, log_bytes=2_000, queue_units=10)
    lab.disk.start(lambda stopped: topics)
    try:
        return [warned.text.replace(f"{root}/", "") for warned in lab.journal.find(Warned)]
    finally:
        lab.stop()


def check(root: Path) -> list[str]:
    return CliRunner().invoke(main, ["dump", str(root), "--check"]).stdout.splitlines()[:-1]


@pytest.mark.parametrize("crash", [False, True])
def test_start_of_a_whole_store_warns_of_nothing(tmp_path: Path, crash: bool) -> None:
    written(tmp_path, crash=crash)
    assert reported(tmp_path) == reported(tmp_path) == []


@pytest.mark.parametrize(
    ("offset", "why"),
    [
        (7, "offset 0 points at 1, where no record begins"),
        (20 + 11, "offset 1 points at 164 with 165 bytes, where the record has 164"),
        (40 + 19, "offset 2 points at 328 with tags code 117, where the record has 116"),
        (
            60 + 6,
            "offset 3 points at 236, where no record begins",
        ),
    ],
)
def test_flipped_entry_is_reported_as_by_dump(tmp_path: Path, offset: int, why: str) -> None:
    written(tmp_path)
    flip(tmp_path / QUEUE, offset)
    line = f"{QUEUE}:{offset - offset % 20}: {why}"
    assert reported(tmp_path) == [line]
    assert line in check(tmp_path)


@pytest.mark.parametrize("offset", [40, 46, 47, 48, 50, 51, 56, 59])
def test_flip_in_each_field_of_an_entry_is_reported(tmp_path: Path, offset: int) -> None:
    written(tmp_path)
    flip(tmp_path / QUEUE, offset)
    assert any(line.startswith(f"{QUEUE}:40: ") for line in reported(tmp_path))


def test_damage_after_a_crash_is_reported_before_the_checkpoint(tmp_path: Path) -> None:
    written(tmp_path, crash=True, message_index_safe=0)
    (tmp_path / "checkpoint").write_bytes((START_MS + 100_000).to_bytes(8) * 3 + bytes(4072))
    flip(tmp_path / QUEUE, 7)
    assert reported(tmp_path) == [f"{QUEUE}:0: offset 0 points at 1, where no record begins"]


def test_damage_in_an_early_file_of_the_log_is_reported(tmp_path: Path) -> None:
    written(tmp_path)
    flip(tmp_path / LOG, 164 + 100)
    lines = reported(tmp_path)
    assert lines[0].startswith(f"{LOG}:164: no record: ")
    assert "CRC" in lines[0]


def test_lost_queue_is_reported_if_its_topic_is_there(tmp_path: Path) -> None:
    written(tmp_path)
    shutil.rmtree(tmp_path / QUEUE.rpartition("/")[0])
    line = f"{LOG}:0: orders:0 offset 0: there is no such queue"
    assert reported(tmp_path, Topics({"other"}, 0))[:1] != [line]
    assert line in reported(tmp_path, Topics({"orders"}, 0))


@pytest.mark.parametrize(
    ("topic", "is_reported"),
    [("orders", False), ("rmq_sys_REVIVE_LOG_c", True), ("BenchmarkTest", True)],
)
def test_lost_queue_of_a_system_topic_is_reported_whenever_a_topic_changed(
    tmp_path: Path, topic: str, *, is_reported: bool
) -> None:
    lab = DiskLab(tmp_path, log_bytes=2_000, queue_units=10)
    lab.start()
    for number in range(60):
        lab.put(b"%03d" % number * 20, topic=topic, queue_id=min(number, 1))
        lab.advance(10)
    changed_ms = lab.node_clock.now_ms()
    lab.stop()
    shutil.rmtree(tmp_path / "consumequeue" / topic / "0")
    line = f"{LOG}:0: {topic}:0 offset 0: there is no such queue"
    assert (line in reported(tmp_path, Topics({topic}, changed_ms))) is is_reported


def test_queue_of_a_topic_that_was_made_again_is_not_missed(tmp_path: Path) -> None:
    with DiskLab(tmp_path) as lab:
        for queue_id in (0, 1):
            lab.put(queue_id=queue_id)
        lab.advance(10)
        lab.store.delete_consume_queue("orders")
        changed_ms = lab.node_clock.now_ms()
    topics = Topics({"orders"}, changed_ms)
    assert reported_by_default_sizes(tmp_path, topics) == []
    with DiskLab(tmp_path) as lab:
        lab.put(queue_id=1)
    assert reported_by_default_sizes(tmp_path, topics) == []


def reported_by_default_sizes(root: Path, topics: Topics) -> list[str]:
    lab = DiskLab(root)
    lab.disk.start(lambda stopped: topics)
    lab.stop()
    return [warned.text for warned in lab.journal.find(Warned)]


def test_topic_without_config_is_reported(tmp_path: Path) -> None:
    written(tmp_path)
    assert reported(tmp_path, Topics(set(), 0)) == [f"consumequeue/orders:0: {NO_TOPIC}"]


@pytest.mark.parametrize("topic", [*sorted(OWN_TOPICS), "%LMQ%room"])
def test_topic_that_the_broker_makes_itself_needs_no_config(tmp_path: Path, topic: str) -> None:
    with DiskLab(tmp_path) as lab:
        lab.put(topic=topic)
    assert reported_by_default_sizes(tmp_path, Topics(set(), 0)) == []
    (tmp_path / "config").mkdir(exist_ok=True)
    (tmp_path / "config" / "topics.json").write_text('{"topicConfigTable":{}}')
    assert not [line for line in check(tmp_path) if topic in line]


def test_topic_that_only_its_config_makes_readable_is_missed(tmp_path: Path) -> None:
    topic = TRANS_CHECK_MAX_TIME_TOPIC  # of the broker, too, which makes it before it stores there
    with DiskLab(tmp_path) as lab:
        lab.put(topic=topic)
    line = f"consumequeue/{topic}:0: {NO_TOPIC}"
    assert reported_by_default_sizes(tmp_path, Topics(set(), 0)) == [f"{tmp_path}/{line}"]
    (tmp_path / "config").mkdir(exist_ok=True)
    (tmp_path / "config" / "topics.json").write_text('{"topicConfigTable":{}}')
    assert line in check(tmp_path)


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("how", ["kill", "stop"])
def test_half_message_before_the_first_check_is_no_damage(
    tmp_path: Path, reference: Literal["4.9.7", "5.5.0"], how: str
) -> None:
    before = Crashes(tmp_path, 0, "ASYNC_FLUSH", reference)
    has_topic = before.broker.topics.select(TRANS_HALF_TOPIC) is not None
    assert has_topic == (reference == "5.5.0")
    before.half()
    if how == "kill":
        before.broker.kill()
    before.close()
    assert check(tmp_path / "broker-a-0") == []
    after = Crashes(tmp_path, 0, "ASYNC_FLUSH", reference)
    after.close()
    assert after.core.journal.find(Warned) == []


QUEUE_OFFSET_AT = 20
RECORD_BYTES = 164


@pytest.mark.timeout(20)  # without a budget it would never end
@pytest.mark.parametrize("crash", [False, True])
@pytest.mark.parametrize("byte", [0x10, 0x7F, 0x80])
def test_record_with_a_damaged_queue_offset_is_reported_at_once(
    tmp_path: Path, crash: bool, byte: int
) -> None:
    written(tmp_path, crash=crash)
    log = sorted((tmp_path / "commitlog").iterdir())[-1]
    edit(log, RECORD_BYTES + QUEUE_OFFSET_AT, bytes([byte]))
    lines = reported(tmp_path)
    offset = int.from_bytes(log.read_bytes()[RECORD_BYTES + QUEUE_OFFSET_AT :][:8], signed=True)
    assert any(f"orders:0 offset {offset}" in line for line in lines)


@pytest.mark.parametrize("byte", [0x02, 0x10, 0x7F, 0x80])
def test_queue_that_is_made_of_a_damaged_record_does_not_hinder_the_next_start(
    tmp_path: Path, byte: int
) -> None:
    lab = DiskLab(tmp_path, log_bytes=2_000, queue_units=10)
    lab.start()
    for body in (b"one", b"two"):
        lab.put(body)
    lab.kill()
    shutil.rmtree(tmp_path / "consumequeue")
    edit(tmp_path / LOG, QUEUE_OFFSET_AT, bytes([byte]))
    for _ in range(2):
        assert not any("2147483647 bytes" in line for line in reported(tmp_path))


def test_start_looks_at_a_part_of_many_damaged_entries_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start_check, "LOOKED_AT", 4)
    written(tmp_path)
    for offset in range(7, 200, 20):
        flip(tmp_path / QUEUE, offset)
    assert reported(tmp_path)[-1] == f"consumequeue:0: {start_check.PARTIAL}"


def test_start_reads_as_many_earlier_records_as_its_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path)
    flip(tmp_path / LOG, 164 + 100)
    monkeypatch.setattr(start_check, "EARLIER_RECORDS", 10)
    assert reported(tmp_path) == []


def test_many_findings_of_a_file_are_counted(tmp_path: Path) -> None:
    written(tmp_path)
    for offset in range(7, 200, 20):
        flip(tmp_path / QUEUE, offset)
    lines = reported(tmp_path)
    assert len(lines) == 4
    assert lines[-1] == f"{QUEUE}:0: and 7 more in this file"


def test_files_of_a_process_killed_before_they_had_their_size_are_made_anew(tmp_path: Path) -> None:
    lab = DiskLab(tmp_path)
    lab.start()
    lab.put(b"one")
    lab.put(b"two", queue_id=1)
    lab.kill()
    lab.path("consumequeue/orders/1/00000000000000000000").write_bytes(b"")
    lab.path("commitlog/00000000000000004096").write_bytes(b"")
    lab.path("checkpoint").write_bytes(b"")
    lab.start()
    assert (lab.bodies(), lab.bodies(queue_id=1)) == ([b"one"], [b"two"])
    assert lab.put(b"three").status is PutMessageStatus.PUT_OK
    lab.stop()
    assert lab.start().clean
    assert lab.bodies() == [b"one", b"three"]


@pytest.mark.parametrize("number", [0, 1])
def test_missing_index_file_is_reported_and_made_anew(tmp_path: Path, number: int) -> None:
    with DiskLab(tmp_path, max_index_num=8) as lab:
        for key in range(30):
            lab.put(properties=f"KEYS\x01k{key}\x02")
            lab.advance(10)
    sorted((tmp_path / "index").iterdir())[number].unlink()
    with DiskLab(tmp_path, max_index_num=8) as lab:
        assert {repair.why for repair in lab.repairs()} == {"an index file that is made anew"}
        for key in range(30):
            assert finished(
                lab.store.query_message("orders", f"k{key}", 64, 0, 2 * START_MS)
            ).buffers


@pytest.mark.parametrize("crash", [False, True])
def test_log_file_that_is_a_copy_of_another_is_reported(tmp_path: Path, crash: bool) -> None:
    written(tmp_path, crash=crash)
    files = sorted((tmp_path / "commitlog").iterdir())
    shutil.copyfile(files[0], files[2])
    assert any(
        f"{files[2].name}:0: the record at 4000 says that it is at 0" in line
        for line in reported(tmp_path)
    )


def test_emptied_log_file_before_the_checkpoint_is_reported_after_a_crash(tmp_path: Path) -> None:
    written(tmp_path, crash=True, message_index_safe=0)
    (tmp_path / "checkpoint").write_bytes((START_MS + 100_000).to_bytes(8) * 3 + bytes(4072))
    (tmp_path / LOG).write_bytes(b"")
    assert any(f"{LOG}:0: no record" in line for line in reported(tmp_path))
