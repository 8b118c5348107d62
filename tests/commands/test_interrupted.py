"""Ctrl-C ends each command at once, by one line and without a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import fakemq

pytestmark = pytest.mark.slow  # each command is a process of its own


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[fakemq.Cluster, Path]]:
    """A cluster with more messages than a pipe holds lines about them, and its broker's store."""
    folder = tmp_path_factory.mktemp("store")
    with fakemq.Cluster(topics={"orders": 1}, store=folder) as mq:
        mq.seed("orders", ["tea"] * 2000)
        mq.seed("bills", ["tea"])
        mq.consumer(group="billing", subscribe="bills", consume_from="first")
        mq.settle()
        yield mq, folder / "broker-a-0"


def interrupted(mq: fakemq.Cluster, *args: str) -> tuple[int, str]:
    """Type Ctrl-C once the command has printed something; return its exit code and stderr."""
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "fakemq", *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "NAMESRV_ADDR": mq.namesrv_addr},
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    return process.returncode, errors


@pytest.mark.parametrize(
    "args",
    [
        ["replay", "--seed", "7", "--minutes", "1000"],
        ["dump", "{store}"],
        ["decode", "{store}/consumequeue/orders/0/00000000000000000000"],
        ["tail", "orders", "--from", "first"],
    ],
    ids=lambda args: str(args[0]),
)
def test_command_that_is_broken_off_says_so(
    running: tuple[fakemq.Cluster, Path], args: list[str]
) -> None:
    mq, store = running
    given = [one.format(store=store) for one in args]
    assert interrupted(mq, *given) == (130, "stopped by Ctrl-C\n")


@pytest.mark.parametrize(
    "args",
    [
        ["tail", "bills", "-f"],
        ["lag", "billing", "--watch"],
        ["serve", "--namesrv-port", "0", "--broker-port", "0"],
    ],
    ids=lambda args: str(args[0]),
)
def test_command_that_lasts_until_ctrl_c_succeeds(
    running: tuple[fakemq.Cluster, Path], args: list[str]
) -> None:
    assert interrupted(running[0], *args) == (0, "")
