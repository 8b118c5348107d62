"""The journal as a file of lines: written at once, read back, refused when impossible."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import fakemq
from fakemq.client import Client, Message
from fakemq.clock.clock import Clock
from fakemq.errors import FakemqError
from fakemq.events import Delivered, NodeStopped, TopicChanged
from fakemq.journal.file import JournalFile, read
from fakemq.journal.journal import Journal


def test_every_entry_is_written_at_once(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(Clock(frozen=True, start_at_ms=5))
    file = JournalFile(str(path))
    journal.listen(file)
    journal.add(TopicChanged(node="broker-a-0", topic="orders", how="created"))
    journal.add(NodeStopped(node="broker-a-0", how="stop"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["seq"], line["at_ms"], line["kind"]) for line in lines] == [
        (1, 5, "TopicChanged"),
        (2, 5, "NodeStopped"),
    ]
    assert lines[0] == {
        "seq": 1,
        "at_ms": 5,
        "at": "1970-01-01T00:00:00.005Z",
        "node": "broker-a-0",
        "kind": "TopicChanged",
        "fields": {"topic": "orders", "how": "created"},
        "cause": 0,
    }
    file.close()


def test_offsets_are_written_as_a_list(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(Clock(frozen=True))
    file = JournalFile(str(path))
    journal.listen(file)
    for offsets in (range(3, 6), (3, 5)):
        journal.add(
            Delivered(
                node="broker-a-0",
                topic="orders",
                queue_id=0,
                offsets=offsets,
                next_offset=6,
                group="billing",
                peer="127.0.0.1:1",
            )
        )
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["fields"]["offsets"] for line in lines] == [[3, 4, 5], [3, 5]]
    file.close()


def test_unwritable_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FakemqError, match="cannot write the journal"):
        JournalFile(str(tmp_path / "no folder" / "journal.jsonl"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_full_disk_ends_the_file_but_not_the_cluster(caplog: pytest.LogCaptureFixture) -> None:
    journal = Journal(Clock(frozen=True))
    journal.listen(JournalFile("/dev/full"))
    for _ in range(2):
        journal.add(NodeStopped(node="broker-a-0", how="stop"))
    assert len(journal) == 2
    assert [record.getMessage() for record in caplog.records] == [
        "/dev/full: the journal ends here: No space left on device"
    ]


def test_lone_surrogate_is_written_as_a_question_mark(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(Clock(frozen=True, start_at_ms=5))
    file = JournalFile(str(path))
    journal.listen(file)
    journal.add(TopicChanged(node="broker-a-0", topic="a\ud800b", how="created"))
    assert json.loads(path.read_text())["fields"]["topic"] == "a?b"
    file.close()


def test_entries_are_read_back_equal(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with fakemq.Cluster(
        journal=str(path), topics={"orders": 1}, slaves=1, role="SYNC_MASTER", clock="frozen"
    ) as mq:
        with Client(mq.namesrv_addr, consumer_group="billing") as client:
            client.subscribe("orders")
            client.heartbeat()
            client.send(Message("orders", b"one", properties={"DELAY": "1"}))
            mq.clock.advance("1s")
            (queue,) = client.subscribe_queues("orders")
            assert client.pull(queue, 0).messages
        mq.faults.silence("broker-a")
        mq.clock.advance("30s")
        mq.broker("broker-a-1").kill()
        entries = list(mq.journal)
        assert read(path)[: len(entries)] == entries
    assert {"Delivered", "ScheduledDelivered", "TimerFired", "FaultHit", "Replicated"} <= {
        type(entry.event).__name__ for entry in entries
    }


def test_invalid_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    good = b'{"seq":1,"at_ms":5,"node":"a","kind":"Warned","fields":{"text":"t"},"cause":0}\n'
    path.write_bytes(good + good[:-9])
    assert len(read(path)) == 1, "the last line is not whole"
    for bad, why in (
        (b"{}\n", "missing required field `seq`"),
        (b"nonsense\n", "malformed"),
        (good.replace(b"Warned", b"Warmed"), "no kind of event is called 'Warmed'"),
        (good.replace(b'"text"', b'"test"'), "missing required field `text`"),
    ):
        path.write_bytes(good + bad)
        with pytest.raises(FakemqError, match=rf"journal.jsonl, line 2: .*{why}"):
            read(path)
    with pytest.raises(FakemqError, match="cannot read the journal: No such file"):
        read(tmp_path / "nowhere")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_unwritable_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.touch(mode=0o400)
    with pytest.raises(FakemqError, match="cannot write the journal: Permission denied"):
        JournalFile(str(path))


def test_pipe_without_a_reader_is_no_journal(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(FakemqError, match="Is a named pipe that no program reads"):
        JournalFile(str(path))
    with pytest.raises(FakemqError, match="Is a named pipe, not a regular file"):
        read(str(path))
