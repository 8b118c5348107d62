"""Every example of docs/client.md runs as it stands on the page, and checks its own outcome."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from inspect import iscoroutinefunction
from pathlib import Path
from types import FunctionType

import anyio
import pytest

import fakemq
from fakemq import client
from fakemq.client.consuming import allocation
from fakemq.client.faces.messages import Choice, Parts

PAGE = Path(__file__).parents[2] / "docs/client.md"
PARTS = re.compile(r"^#+ (?P<heading>[^\n]+)$|```python\n(?P<source>.*?)```", re.M | re.S)


def recipes() -> Iterator[tuple[str, str]]:
    """The name of each example, and its text with the page's line numbers."""
    page = PAGE.read_text()
    heading = ""
    numbers: dict[str, int] = {}
    for found in PARTS.finditer(page):
        if found["heading"]:
            heading = found["heading"]
            continue
        number = numbers[heading] = numbers.get(heading, 0) + 1
        line = page.count("\n", 0, found.start("source"))
        yield f"{heading} {number}".lower().replace(" ", "-"), "\n" * line + found["source"]


RECIPES = dict(recipes())


@pytest.fixture(scope="module")
def cluster() -> Iterator[fakemq.Cluster]:
    topics = {"orders": 4, "refunds": 1}
    config = {"enablePropertyFilter": True}
    with fakemq.Cluster(clock="frozen", topics=topics, config=config) as mq:
        yield mq


@pytest.fixture
def mq(cluster: fakemq.Cluster) -> fakemq.Cluster:
    cluster.reset()
    return cluster


@pytest.mark.parametrize("name", RECIPES)
def test_recipe_runs(name: str, mq: fakemq.Cluster) -> None:
    namespace: dict[str, object] = {"mq": mq}
    exec(compile(RECIPES[name], str(PAGE), "exec"), namespace)
    for function in list(namespace.values()):
        if not isinstance(function, FunctionType) or not function.__name__.startswith("test_"):
            continue
        if iscoroutinefunction(function):
            anyio.run(function, fakemq.AsyncCluster.of(mq))
        else:
            function(mq)


def test_each_recipe_checks_its_outcome() -> None:
    unchecked = [name for name, source in RECIPES.items() if "assert " not in source]
    assert not unchecked
    assert len(RECIPES) == 21


def test_table_names_what_is_there() -> None:
    table = (
        PAGE.read_text().partition("\n| Java 4.9.7 | ours |\n|---|---|\n")[2].partition("\n\n")[0]
    )
    ours = [row.split(" | ")[1] for row in table.splitlines()]
    assert len(ours) == 30
    there = {*client.__all__, *vars(allocation), "NAMESRV_ADDR", "AVG", "AVG_BY_CIRCLE"}
    there |= {"CONSISTENT_HASH", "fakemq.client.consuming.allocation", "compress"}
    for face in (getattr(client, name) for name in client.__all__):
        there |= set(dir(face))
        if hasattr(face, "__signature__"):
            there |= set(inspect.signature(face).parameters)
    there |= set(Choice.__annotations__) | set(Parts.__annotations__)
    not_there = {"OffsetStore", "FilterServer", "RequestCallback", "PullCallback", "MQAdminExt"}
    named = {name for row in ours for name in re.findall(r"`([^`]+)`", row)}
    assert named - there == not_there
