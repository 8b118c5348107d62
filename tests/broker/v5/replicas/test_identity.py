"""brokerIdentity and brokerIdentity-temp: bytes, damage, and what the disk refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.broker.v5.replicas.identity import (
    LONG_MAX,
    BrokerMetadata,
    Identity,
    TempBrokerMetadata,
    decode,
    decode_temp,
)
from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.config.v5.model import BrokerConfig5
from fakemq.dispatch.node import NodeContext
from fakemq.errors import StoreError
from fakemq.events.core import Warned
from fakemq.faults.plan import FaultPlan
from fakemq.journal.journal import Journal
from fakemq.journal.warnings import MAX_LINES
from fakemq.randomness import Randomness
from fakemq.reference.v5 import REFERENCE

names = st.text(st.characters(exclude_characters="#", exclude_categories=["Cs"]), min_size=1)
ids = st.integers(1, LONG_MAX)
CODE = "127.0.0.1:10911;1764400000000"


def identity(folder: Path | None) -> tuple[Identity, Journal]:
    journal = Journal(Clock(frozen=True))
    config = BrokerConfig5(store_path_root_dir=None if folder is None else str(folder))
    clock = NodeClock(Clock(frozen=True), "broker-a@1")
    node = NodeContext(
        *("broker-a@1", config, clock, journal, FaultPlan(journal)),
        *(Randomness(1).stream("x"), REFERENCE),
    )
    return Identity(node), journal


def warnings(journal: Journal) -> list[str]:
    return [event.text for event in journal.find(Warned)]


@given(names, names, ids)
def test_identity_survives_its_file(cluster: str, name: str, broker_id: int) -> None:
    metadata = BrokerMetadata(cluster, name, broker_id)
    assert decode(metadata.encode()) == metadata
    temp = TempBrokerMetadata(cluster, name, broker_id, CODE)
    assert decode_temp(temp.encode()) == temp


def test_files_have_the_bytes_of_java(tmp_path: Path) -> None:
    files, _ = identity(tmp_path)
    assert files.write_temp(TempBrokerMetadata("DefaultCluster", "broker-a", 2, CODE))
    assert (tmp_path / "brokerIdentity-temp").read_bytes() == (
        b"DefaultCluster#broker-a#2#127.0.0.1:10911;1764400000000"
    )
    assert files.write(BrokerMetadata("DefaultCluster", "broker-a", 2))
    assert files.write(BrokerMetadata("DefaultCluster", "broker-a", 3))
    files.delete_temp()
    assert [one.name for one in tmp_path.iterdir()] == ["brokerIdentity"]
    assert (tmp_path / "brokerIdentity").read_bytes() == b"DefaultCluster#broker-a#3"


@pytest.mark.parametrize("folder", [True, False], ids=["directory", "memory"])
def test_identity_is_read_again(tmp_path: Path, folder: bool) -> None:
    files, _ = identity(tmp_path if folder else None)
    assert files.read() is None
    assert files.read_temp() is None
    files.write(BrokerMetadata("C", "b", 7))
    assert files.read() == BrokerMetadata("C", "b", 7)
    files.forget()
    assert files.read() is None


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "C#b",
        "C#b#",
        "C#b#x",
        "C#b#-1",
        "C#b#0",
        f"C#b#{LONG_MAX + 1}",
        "#b#1",
        "C##1",
        "C#b#²",
    ],
)
def test_damaged_identity_counts_as_absent(tmp_path: Path, text: str) -> None:
    (tmp_path / "brokerIdentity").write_text(text)
    (tmp_path / "brokerIdentity-temp").write_text(text)
    files, journal = identity(tmp_path)
    assert files.read() is None
    assert files.read_temp() is None
    assert len(warnings(journal)) == 2


def test_temporary_identity_needs_its_check_code(tmp_path: Path) -> None:
    (tmp_path / "brokerIdentity-temp").write_text("C#b#1")
    files, journal = identity(tmp_path)
    assert files.read_temp() is None
    assert "no check code" in warnings(journal)[0]


def test_pipe_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "brokerIdentity")
    files, journal = identity(tmp_path)
    assert files.read() is None
    assert "named pipe" in warnings(journal)[0]


@given(st.text())
def test_any_text_is_an_identity_or_an_error(text: str) -> None:
    for read in (decode, decode_temp):
        try:
            assert read(text).broker_id > 0
        except ValueError:
            continue


def test_damage_that_lasts_is_reported_a_few_times(tmp_path: Path) -> None:
    (tmp_path / "brokerIdentity").write_text("x")
    files, journal = identity(tmp_path)
    for _ in range(30):
        assert files.read() is None
    assert len(warnings(journal)) == MAX_LINES


def test_put_text_is_written_or_refused_aloud(tmp_path: Path) -> None:
    files, _ = identity(tmp_path)
    files.put("DefaultCluster#broker-a#2")
    assert files.text == "DefaultCluster#broker-a#2"
    (tmp_path / "brokerIdentity.tmp").mkdir()
    files.put("DefaultCluster#broker-a#2")
    with pytest.raises(StoreError, match="brokerIdentity: "):
        files.put("DefaultCluster#broker-a#3")
    (tmp_path / "brokerIdentity").unlink(missing_ok=True)
    (tmp_path / "brokerIdentity").mkdir()
    with pytest.raises(StoreError, match="brokerIdentity: "):
        assert files.text
