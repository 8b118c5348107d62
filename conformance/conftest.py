"""The clusters that conformance tests run against, reached over sockets only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from conformance.java_cluster import JavaCluster, wait_until
from conformance.java_jars import missing_java

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def java() -> None:
    """Skips where Java or Maven is missing; with CI=true that is a failure."""
    reason = missing_java()
    if reason is not None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


@pytest.fixture(scope="session")
def real_cluster(java: None) -> Iterator[JavaCluster]:
    """RocketMQ 4.9.7 with two masters."""
    with JavaCluster(masters=2) as cluster:
        yield cluster


class FakeProcess(NamedTuple):
    """Where ``python -m fakemq`` listens."""

    namesrv_addr: str
    broker_addrs: list[str]


@pytest.fixture(scope="session")
def fake_process() -> Iterator[FakeProcess]:
    """``python -m fakemq`` with two masters, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="fakemq-") as home:
        ready = Path(home) / "ready.json"
        output = Path(home) / "output.txt"
        command = [
            *(sys.executable, "-m", "fakemq", "--namesrv-port", "0", "--broker-port", "0"),
            *("--masters", "2", "--ready-file", str(ready)),
        ]
        with open(output, "wb") as out:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=ROOT
            )
        try:
            wait_until(lambda: ready.exists() or process.poll() is not None, 30.0)
            if not ready.exists():
                pytest.fail(f"python -m fakemq is not ready:\n{output.read_text()}")
            info = json.loads(ready.read_text())
            yield FakeProcess(info["namesrv"], [broker["addr"] for broker in info["brokers"]])
        finally:
            process.terminate()
            try:
                process.wait(10.0)
            finally:
                process.kill()
                process.wait()
