"""A limit of the process that is too small is one line before anything starts."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fakemq import Cluster
from fakemq.config.spec import cluster_spec
from fakemq.errors import FakemqError
from fakemq.serving import limits
from fakemq.serving.thread import ClusterThread
from tests.support.imports import ROOT

resource = pytest.importorskip("resource")

LIMITED = """
import resource, runpy, sys
name, value = sys.argv[1], int(sys.argv[2])
resource.setrlimit(getattr(resource, name), (value, value))
sys.argv[1:] = sys.argv[3:]
runpy.run_module("fakemq", run_name="__main__", alter_sys=True)
"""
LINES = [
    ("RLIMIT_NOFILE", 20, (), r"(ulimit -n) is 20: this cluster needs 58 beside the 3 that are"),
    ("RLIMIT_NOFILE", 5, (), "ulimit -n 1024 is enough"),
    ("RLIMIT_AS", 800 << 20, (), "(ulimit -v) is 819200 KiB: the first log and index of each"),
    ("RLIMIT_FSIZE", 1 << 20, ("--store", "s"), "(ulimit -f) is 1048576 bytes: a file of the log"),
]


@pytest.mark.parametrize(("name", "value", "arguments", "line"), LINES)
def test_command_line_refuses_limit_in_one_line(
    name: str, value: int, arguments: tuple[str, ...], line: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-c", LIMITED, name, str(value)),
            *("--namesrv-port", "0", "--broker-port", "0", "--ready-file", "ready", *arguments),
        ],
        capture_output=True,
        text=True,
        timeout=30,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 1
    (found,) = done.stderr.splitlines()
    assert found.startswith("Error: the limit of ")
    assert line in found
    assert not done.stdout
    assert not list(tmp_path.iterdir())


def limited(monkeypatch: pytest.MonkeyPatch, name: str, value: int) -> None:
    number, real = getattr(resource, name), resource.getrlimit
    monkeypatch.setattr(
        resource, "getrlimit", lambda what: (value, value) if what == number else real(what)
    )


def test_cluster_refuses_too_few_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, "RLIMIT_NOFILE", 40)
    monkeypatch.setattr(limits, "raise_descriptor_limit", lambda: None)
    before = set(threading.enumerate())
    with pytest.raises(FakemqError, match=r"ulimit -n\) is 40: .* ulimit -n 1024 is enough"):
        Cluster().start()
    assert not set(threading.enumerate()) - before


def test_limit_of_descriptors_is_raised_first(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, "RLIMIT_NOFILE", 40)
    monkeypatch.setattr(limits, "raise_descriptor_limit", monkeypatch.undo)
    with Cluster() as mq:
        assert mq.topics()


def test_cluster_refuses_too_few_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    limited(monkeypatch, "RLIMIT_AS", 1 << 30)
    monkeypatch.setattr("mmap.mmap", refuse)
    with pytest.raises(FakemqError, match=r"ulimit -v\) is 1048576 KiB: .* 3145728 is enough"):
        Cluster().start()


def test_cluster_without_a_thread_keeps_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    spec = cluster_spec(namesrv_port=0, broker_port=0)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        before = len(os.listdir("/dev/fd"))
        with pytest.raises(FakemqError, match=r"can't start new thread; .* \(ulimit -u\)"):
            ClusterThread(spec)
        assert len(os.listdir("/dev/fd")) == before


def test_limit_of_file_sizes_counts_for_directories_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    limited(monkeypatch, "RLIMIT_FSIZE", 1 << 20)
    with Cluster(config={"mappedFileSizeCommitLog": 1 << 20}, store=tmp_path / "a"):
        pass
    with Cluster():
        pass
    with pytest.raises(FakemqError, match=r"ulimit -f\) is 1048576 bytes: .* 1073741824 \(1GiB"):
        Cluster(store=tmp_path / "b").start()
    assert not (tmp_path / "b").exists()
