from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakemq.clock import Clock
from fakemq.errors import FakemqError
from fakemq.events import Delivered, NodeStopped, TopicChanged
from fakemq.journal import Journal
from fakemq.journal_file import JournalFile


def test_every_entry_is_a_line_at_once(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(Clock(frozen=True, start_at_ms=5))
    file = JournalFile(str(path))
    journal.listen(file)
    journal.add(TopicChanged(node="broker-a-0", topic="orders", how="created"))
    journal.add(NodeStopped(node="broker-a-0", how="stop"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["seq"], line["at_ms"], line["event"]["type"]) for line in lines] == [
        (1, 5, "TopicChanged"),
        (2, 5, "NodeStopped"),
    ]
    assert lines[0]["event"] == {
        "type": "TopicChanged", "node": "broker-a-0", "topic": "orders", "how": "created",
    }  # fmt: skip
    file.close()


def test_offsets_are_a_list_whether_they_are_a_range_or_not(tmp_path: Path) -> None:
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
    assert [line["event"]["offsets"] for line in lines] == [[3, 4, 5], [3, 5]]
    file.close()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(FakemqError, match="cannot write the journal"):
        JournalFile(str(tmp_path / "no folder" / "journal.jsonl"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_ends_the_file_and_not_the_cluster(caplog: pytest.LogCaptureFixture) -> None:
    journal = Journal(Clock(frozen=True))
    journal.listen(JournalFile("/dev/full"))
    for _ in range(2):
        journal.add(NodeStopped(node="broker-a-0", how="stop"))
    assert len(journal) == 2
    assert [record.getMessage() for record in caplog.records] == [
        "/dev/full: the journal ends here: No space left on device"
    ]


def test_half_a_surrogate_pair_is_a_question_mark(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    journal = Journal(Clock(frozen=True, start_at_ms=5))
    file = JournalFile(str(path))
    journal.listen(file)
    journal.add(TopicChanged(node="broker-a-0", topic="a\ud800b", how="created"))
    assert json.loads(path.read_text())["event"]["topic"] == "a?b"
    file.close()
