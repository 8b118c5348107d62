"""The clusters that conformance tests run against, reached over sockets only.

They end with the module that uses them: a real broker that only stands there burns 6 % of a core.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import NoReturn

import pytest

from conformance.drivers.go_program import missing_go
from conformance.live.toolchains import require
from conformance.targets import java_jars
from conformance.targets.class_archive import use_archives
from conformance.targets.java_cluster import JavaCluster
from conformance.targets.java_jars import JavaBuildError, missing_java
from conformance.targets.processes import FakemqProcess
from conformance.targets.quick_pair import QUICK, REAL_QUICK, TWO_MASTERS, QuickPair

collect_ignore = ["grpc_worker"]
"""A user's project: `live/test_grpc_recipes.py` runs it with what it needs."""


@pytest.fixture(scope="session")
def java() -> None:
    """Skip where Java or Maven is missing; with CI=true that is a failure.

    JVMs of the session start with archives of loaded classes.
    """
    require(missing_java())
    use_archives()


@pytest.fixture(autouse=True)
def _no_java_unasked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail a test that starts a JVM without the fixture ``java``: `make check` would run it."""

    def refuse(version: str, extra: str = "") -> NoReturn:
        raise JavaBuildError(f"{request.node.name} starts a JVM: give it the fixture 'java'")

    if request.node.get_closest_marker("jvm") is None:
        monkeypatch.setattr(java_jars, "java_cache", refuse)


@pytest.fixture(scope="session")
def go() -> None:
    """Skip where the Go toolchain is missing; with CI=true that is a failure."""
    require(missing_go())


@pytest.fixture(scope="module")
def real_cluster(java: None) -> Iterator[JavaCluster]:
    """RocketMQ 4.9.7 with two masters."""
    with JavaCluster(masters=2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def fake_process() -> Iterator[FakemqProcess]:
    """``python -m fakemq`` with two masters, in a process of its own."""
    with FakemqProcess(*TWO_MASTERS) as process:
        yield process


@pytest.fixture(scope="module")
def quick_pair(java: None) -> Iterator[QuickPair]:
    """The two clusters for scenarios that wait for delays, checks and retries."""
    with ExitStack() as stack:
        fake = FakemqProcess(
            *TWO_MASTERS,
            config=[f"{key}={value}" for key, value in QUICK.items()],
        )
        stack.callback(fake.close)
        real = stack.enter_context(JavaCluster(masters=2, config=REAL_QUICK))
        yield QuickPair(real, stack.enter_context(fake))
