"""The command line's control port, and what a control port leaves alone."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import msgspec
import pytest

import fakemq
from fakemq.serving.ready import ReadyInfo
from tests.support.control import Http

FREE = ("--namesrv-port", "0", "--broker-port", "0")


def started(*arguments: str, **environment: str) -> tuple[subprocess.Popen[str], str]:
    """``python -m fakemq``, and its ready line."""
    process = subprocess.Popen(
        [sys.executable, "-m", "fakemq", *FREE, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    assert process.stdout is not None
    return process, process.stdout.readline()


def stopped(process: subprocess.Popen[str]) -> str:
    """What it said on its standard error until SIGTERM ended it."""
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=10)
    assert process.returncode == 0
    return errors


def test_ready_line_and_file_name_the_control_port(tmp_path: Path) -> None:
    file = tmp_path / "ready.json"
    process, ready = started(
        *("--control-port", "0", "--ready-file", str(file)), FAKEMQ_CONTROL_TOKEN="secret"
    )
    try:
        info = msgspec.json.decode(file.read_bytes(), type=ReadyInfo)
        assert info.control is not None
        assert f", control {info.control} (pid " in ready
        there = Http(info.control)
        assert there.ask("GET", "/v1/state").status == 401
        allowed = {"Authorization": "Bearer secret"}
        state = there.ask("GET", "/v1/state", headers=allowed).json
        assert state["namesrv_addr"] == info.namesrv
        restarted = there.ask("POST", "/v1/brokers/broker-a/restart", {}, allowed)
        assert (restarted.status, restarted.json["state"]) == (200, "running")
        assert there.ask("POST", "/v1/reset", headers=allowed).status == 200
        with urllib.request.urlopen(f"{info.control}/rocketmq/nsaddr") as answer:
            assert answer.read().decode() == info.namesrv
    finally:
        errors = stopped(process)
    assert errors == ""


IMPORTED = """
import sys
from fakemq.config.spec import cluster_spec
from fakemq.serving import foreground
def ready(info):
    print(*sys.modules)
    import os, signal
    os.kill(os.getpid(), signal.SIGTERM)
foreground.run(cluster_spec(namesrv_port=0, broker_port=0), ready)
"""


def test_process_without_a_control_port_imports_no_server() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True)
    imported = set(done.stdout.split())
    assert "fakemq.serving.server" in imported, done.stderr
    assert not {"uvicorn", "starlette", "anyio", "h11", "fakemq.control"} & imported
    assert "fakemq.control.control" not in imported


def test_missing_extra_is_named_with_its_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(fakemq.ConfigError) as caught:
        fakemq.Cluster(control_port=0)
    assert str(caught.value) == (
        "control_port=0 needs an extra that is not installed: pip install 'fakemq[control]'"
    )


def logging_state() -> dict[str, tuple[object, ...]]:
    """What can be set of every logger there is, and the names of levels."""
    known = [logging.getLogger(), *logging.root.manager.loggerDict.values()]
    return {
        one.name: (one.level, one.propagate, one.disabled, tuple(one.handlers), tuple(one.filters))
        for one in known
        if isinstance(one, logging.Logger)
    } | {"levels": tuple(sorted(logging.getLevelNamesMapping().items()))}


def test_logging_is_left_unchanged(caplog: pytest.LogCaptureFixture) -> None:
    import uvicorn  # noqa: F401 - whose loggers are made by its import

    before = logging_state()
    with (
        caplog.at_level(logging.DEBUG),
        fakemq.Cluster(control_port=0, memory_limit="1MiB") as mq,
    ):
        during = logging_state()
        assert mq.control_url is not None
        Http(mq.control_url).get("/v1/state")
        logging.getLogger("fakemq").warning("logged")
    after = logging_state()
    assert {name: after[name] for name in before} == before
    fresh = (logging.NOTSET, True, False, (), ())
    assert all(after[name] == fresh for name in after.keys() - before.keys())
    assert during["fakemq"] == before["fakemq"]
    spoke = {record.name for record in caplog.records}
    assert spoke <= {"fakemq", "asyncio"}
    assert "logged" in caplog.messages
