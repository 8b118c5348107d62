"""The examples of README and docs that stand by themselves do what they say."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import fakemq
from fakemq.client import Producer, SendStatus

ROOT = Path(__file__).parents[2]
MOST_LINES = 150


def run(page: str, source: str, **given: object) -> None:
    """Execute an example of a page."""
    exec(compile(source, page, "exec"), given)


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= MOST_LINES


def test_example_of_slaves_runs() -> None:
    (source,) = blocks("docs/replication.md")
    run("docs/replication.md", source)


def test_example_without_pytest_runs() -> None:
    run("docs/cluster.md", blocks("docs/cluster.md")[0])


def test_examples_of_single_requests_run() -> None:
    sending, consuming = blocks("docs/requests.md")
    with fakemq.Cluster(topics={"orders": 2}) as mq:
        run("docs/requests.md", sending, mq=mq)
        mq.assert_sent("orders", bodies=["paid"])
        mq.seed("orders", ["one", "two"])
        run("docs/requests.md", consuming, mq=mq)
        mq.assert_consumed("orders", "billing", 3)


def test_example_of_a_store_runs(tmp_path: Path) -> None:
    (source,) = blocks("docs/stores.md")
    run("docs/stores.md", source, fakemq=fakemq, tmp_path=tmp_path)


@pytest.mark.parametrize("page", ["acl", "tls"])
def test_example_of_a_secured_cluster_runs(page: str) -> None:
    (source,) = blocks(f"docs/{page}.md")
    exec(compile(source, page, "exec"), {"fakemq": fakemq, "Producer": Producer})


def test_examples_of_faults_run() -> None:
    (links,) = blocks("docs/faults_links.md")
    slave, threads = blocks("docs/faults_nodes.md")
    with fakemq.Cluster(slaves=1, topics={"orders": 1}) as mq:
        exec(compile(links, "docs/faults_links.md", "exec"), {"mq": mq})
    stored = []

    def send_an_order(namesrv_addr: str) -> None:
        with Producer(namesrv_addr, group="shop") as producer:
            stored.append(producer.send("orders", b"tea").status)

    given = {"fakemq": fakemq, "send_an_order": send_an_order}
    exec(compile(slave, "docs/faults_nodes.md", "exec"), given)
    assert stored == [SendStatus.SEND_OK]
    exec(compile(threads, "docs/faults_nodes.md", "exec"), {})


def test_examples_of_the_laboratory_run() -> None:
    sources = blocks("docs/cluster.md")[1:4]
    with fakemq.Cluster(clock="frozen", topics={"orders": 1}) as mq:
        before_ms = mq.clock.now_ms()
        for source in sources:
            run("docs/cluster.md", source, mq=mq)
        assert len(mq.faults.placed()) == 2
        assert mq.clock.now_ms() - before_ms == 7_200_000
        assert mq.broker("broker-a").clock.skew_ms == -300


def blocks(page: str) -> list[str]:
    """Every Python block of a page."""
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


CLOCK = [block for block in blocks("docs/clock.md") if "def test_" not in block]
"""Those with tests run in tests/fixtures."""


@pytest.mark.parametrize("source", CLOCK, ids=range(len(CLOCK)))
def test_example_of_the_clock_runs(source: str) -> None:
    exec(compile(source, "docs/clock.md", "exec"), {})


def test_no_example_of_the_clock_is_left_out() -> None:
    assert len(CLOCK) == 4


@pytest.mark.parametrize("number", range(5))
def test_example_of_the_journal_runs(number: int) -> None:
    sources = blocks("docs/journal.md")
    assert len(sources) == 5
    exec(compile(sources[number], "docs/journal.md", "exec"), {})


PAGES = ("README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in ROOT.glob("docs/*.md")))


@pytest.mark.parametrize("page", PAGES)
def test_page_names_only_files_that_exist(page: str) -> None:
    """A name such as `store/store.py` is the end of a path."""
    command = ["git", "ls-files"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [f"/{path}" for path in listed.split()]
    named = re.findall(r"`([\w/]+\.(?:py|toml|md))`", (ROOT / page).read_text())
    missing = [name for name in named if not any(path.endswith(f"/{name}") for path in paths)]
    assert not [name for name in missing if "pyspark" not in name and "streaming" not in name]
