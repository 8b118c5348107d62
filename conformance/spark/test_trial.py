"""What the trial of the streaming job relies on: it sees what is wrong, and kills all of a job."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import fakemq
from conformance.spark.orders import (
    BATCH,
    Orders,
    arrived,
    counted,
    deduplicated,
    received,
    wrong_totals,
)
from conformance.spark.running_job import Checkpoint, JobError, RunningJob
from fakemq.client.blocking import Client
from fakemq.client.messages import Message
from fakemq.protocol.message import MessageExt

ORDERS = Orders(3 * BATCH + 7, customers=20)
MARK = "MARK"


@pytest.fixture
def cluster() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(masters=2, topics={"Orders": 2, "Counts": 2}) as cluster:
        yield cluster


def sent_totals(
    cluster: fakemq.Cluster, *batches: Mapping[str, tuple[int, int]]
) -> list[MessageExt]:
    """Totals as the job sends them, a dict for each micro-batch, and received again."""
    with Client(cluster.namesrv_addr) as client:
        for number, totals in enumerate(batches):
            for customer, (orders, amount) in totals.items():
                body = json.dumps({"orders": orders, "amount": amount})
                mark = {MARK: f"{number} {customer}"}
                client.send(Message("Counts", body, keys=customer, properties=mark))
        assert arrived(client, "Counts") == sum(map(len, batches))
    return received(cluster.namesrv_addr, "Counts")


def test_orders_are_sent_as_they_are_expected(cluster: fakemq.Cluster) -> None:
    ORDERS.send(cluster.namesrv_addr, "Orders")
    stored = cluster.messages("Orders")
    assert len(stored) == ORDERS.count
    assert {(message.broker, message.queue_id) for message in stored} == {
        (broker, queue) for broker in ("broker-a", "broker-b") for queue in range(2)
    }
    expected = ORDERS.totals()
    assert sum(total.orders for total in expected.values()) == ORDERS.count
    for customer, total in expected.items():
        amounts = [json.loads(m.body)["amount"] for m in stored if m.keys == customer]
        assert (len(amounts), sum(amounts)) == total


def test_exact_totals_are_accepted(cluster: fakemq.Cluster) -> None:
    totals = ORDERS.totals()
    half = dict.fromkeys(totals, (1, 1))
    messages = sent_totals(cluster, half, totals)
    assert counted(messages) == ORDERS.count
    assert wrong_totals(messages, ORDERS, 2) == []
    # As if one more had been done of which nothing came.
    assert len(wrong_totals(messages, ORDERS, 3)) == 1


@pytest.mark.parametrize("mistake", ["lost", "more", "unknown", "twice"])
def test_wrong_totals_are_named(cluster: fakemq.Cluster, mistake: str) -> None:
    totals = ORDERS.totals()
    wrong: dict[str, tuple[int, int]] = dict(totals)
    orders, amount = wrong.pop("customer-7")
    if mistake != "lost":
        wrong["customer-7"] = (orders + (mistake == "more"), amount)
    if mistake == "unknown":
        wrong["customer-7b"] = (1, 1)
    again = [{"customer-7": totals["customer-7"]}] if mistake == "twice" else []
    (only,) = wrong_totals(sent_totals(cluster, wrong, *again), ORDERS, 1)
    assert only.startswith("customer-7")


def test_duplicates_are_removed(cluster: fakemq.Cluster) -> None:
    messages = sent_totals(cluster, {"a": (1, 1)}, {"a": (1, 1), "b": (1, 2)})
    distinct = deduplicated([*messages, *messages], MARK)
    assert sorted(map(id, distinct)) == sorted(map(id, messages))


def test_row_id_of_two_different_messages_is_refused(cluster: fakemq.Cluster) -> None:
    with Client(cluster.namesrv_addr) as client:
        for body in ("1", "2"):
            client.send(Message("Counts", body, properties={MARK: "same"}))
        client.send(Message("Orders", "no mark"))
    with pytest.raises(AssertionError, match="MARK same"):
        deduplicated(received(cluster.namesrv_addr, "Counts"), MARK)
    with pytest.raises(AssertionError, match="no property MARK"):
        deduplicated(received(cluster.namesrv_addr, "Orders"), MARK)


def test_checkpoint_says_what_is_under_way(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    assert (checkpoint.planned, checkpoint.committed) == (0, 0)
    for log, names in {"offsets": ["9", "10", ".10.crc", ".11.x.tmp"], "commits": ["9"]}.items():
        (tmp_path / log).mkdir()
        for name in names:
            (tmp_path / log / name).touch()
    assert (checkpoint.planned, checkpoint.committed) == (11, 10)
    assert [batch for batch in range(12) if checkpoint.is_under_way(batch)] == [10]


def test_all_processes_of_a_job_are_killed(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    # As PySpark has it: the workers' daemon makes itself a process group.
    program.write_text(
        "import fcntl, os, signal\n"
        "if os.fork():\n"
        "    signal.pause()\n"
        "os.setpgid(0, 0)\n"
        "lock = open('lock', 'w')\n"
        "fcntl.flock(lock, fcntl.LOCK_EX)\n"
        "print('working', flush=True)\n"
        "signal.pause()\n"
    )
    with RunningJob(program, [], tmp_path / "home") as job:
        assert job.wait_for(lambda: "working" in job.output(), "worker", 30)
        assert job.exit_code is None
        with open(tmp_path / "home" / "lock", "w") as lock:
            with pytest.raises(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            job.kill()
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_job_that_ends_is_not_a_job_that_hangs(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys; print('no'); sys.exit(3)")
    with RunningJob(program, [], tmp_path) as job:
        assert not job.wait_for(lambda: False, "miracle", 30)
        assert job.exit_code == 3
    program.write_text("import signal; signal.pause()")
    with RunningJob(program, [], tmp_path) as job:
        assert job.exit_code is None
        with pytest.raises(JobError, match="no miracle within"):
            job.wait_for(lambda: False, "miracle", 0.1)
