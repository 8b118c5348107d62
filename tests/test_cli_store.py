"""`python -m fakemq --store DIR` where that cannot be: one line, exit code 1, nothing changed."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import fakemq
from bench.measure import ENVIRONMENT
from fakemq.client.blocking import Client
from fakemq.client.errors import MQClientError
from fakemq.client.messages import Message
from tests.support.written_store import NODE, SIZES

LOG, QUEUE = "commitlog/00000000000000008192", "consumequeue/orders/0/00000000000000000400"
PORTS = ("--namesrv-port", "0", "--broker-port", "0")
TOPICS = "NODE/config/topics.json"
AS_ORDINARY_USER = ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--")
"""What is forbidden to root, too."""


def serve(*arguments: str, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run a cluster that is expected not to start."""
    return subprocess.run(
        [*before, sys.executable, "-m", "fakemq", *PORTS, *arguments],
        capture_output=True,
        text=True,
        timeout=20,
        env=ENVIRONMENT,
    )


def complaint(node: Path, *, before: tuple[str, ...] = ()) -> str:
    """The one line that a cluster has to say about a store, with the node's folder as NODE."""
    config = node.parent / "broker.conf"
    config.write_text("".join(f"{key}={value}\n" for key, value in SIZES.items()))
    done = serve("--store", str(node.parent), "-c", str(config), before=before)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr.removeprefix("Error: ").rstrip("\n").replace(str(node), "NODE")


def replace_by_file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("no folder")


def replace_by_folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


def state(node: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(node)): path.read_bytes() if path.is_file() else None
        for path in node.rglob("*")
    }


WRONG_SIZE = "start with the sizes it was written with, or move it away"
DAMAGES: list[tuple[str, Callable[[Path], object], str]] = [
    (LOG, Path.unlink, "is missing before 00000000000000012288"),
    (QUEUE, Path.unlink, "is missing before 00000000000000000800"),
    (
        LOG,
        lambda path: path.write_bytes(b"x"),
        f"has 1 bytes where the config says 4096; {WRONG_SIZE}",
    ),
    (
        QUEUE,
        lambda path: path.write_bytes(b"x"),
        f"has 1 bytes where the config says 400; {WRONG_SIZE}",
    ),
    (
        "checkpoint",
        lambda path: path.write_bytes(b"x"),
        f"has 1 bytes where the config says 4096; {WRONG_SIZE}",
    ),
    ("commitlog", replace_by_file, "cannot be listed: Not a directory"),
    ("consumequeue", replace_by_file, "cannot be listed: Not a directory"),
    ("index", replace_by_file, "cannot be listed: Not a directory"),
    ("checkpoint", replace_by_folder, "cannot be opened: Is a directory, not a regular file"),
]


@pytest.mark.parametrize(("path", "damage", "why"), DAMAGES)
def test_damaged_store_is_one_line(
    node: Path, path: str, damage: Callable[[Path], object], why: str
) -> None:
    damage(node / path)
    before = state(node)
    assert complaint(node) == f"NODE/{path}: {why}"
    assert state(node) == before


def test_file_in_place_of_the_config_folder_is_one_line(node: Path) -> None:
    replace_by_file(node / "config")
    assert complaint(node) == "NODE/config: Not a directory"


def test_folder_in_place_of_the_abort_file_is_one_line(node: Path) -> None:
    replace_by_folder(node / "abort")
    assert complaint(node) == "NODE/abort: cannot be opened: Is a directory, not a regular file"


@pytest.mark.parametrize(
    ("path", "mode", "line"),
    [
        (LOG, 0, f"NODE/{LOG}: cannot be opened: Permission denied"),
        (LOG, 0o444, f"NODE/{LOG}: cannot be opened: Permission denied"),
        ("checkpoint", 0, "NODE/checkpoint: cannot be opened: Permission denied"),
        (
            "consumequeue/orders",
            0,
            "NODE/consumequeue/orders: cannot be listed: Permission denied",
        ),
        ("lock", 0, "NODE/lock: cannot keep a store here: Permission denied"),
        (".", 0o555, "NODE/abort: cannot be written: Permission denied"),
        (
            "config",
            0,
            f"{TOPICS}: cannot be opened: Permission denied",
        ),
    ],
)
def test_missing_permission_is_one_line(node: Path, path: str, mode: int, line: str) -> None:
    before: tuple[str, ...] = ()
    if os.geteuid() == 0:
        if shutil.which(AS_ORDINARY_USER[0]) is None:
            pytest.skip("root may do everything, and there is no setpriv to change that")
        before = AS_ORDINARY_USER
    usual = (node / path).stat().st_mode
    (node / path).chmod(mode)
    try:
        assert complaint(node, before=before) == line
    finally:
        (node / path).chmod(usual)


def test_too_small_limit_of_file_sizes_is_one_line(tmp_path: Path) -> None:
    before = ("sh", "-c", 'ulimit -f 0; exec "$@"', "sh")
    line = complaint(tmp_path / NODE, before=before)
    assert line == (
        "the limit of file sizes (ulimit -f) is 0 bytes: a file of the log of broker-a-0 has"
        " 4096 (4KiB); ulimit -f unlimited is enough, or smaller files (mappedFileSizeCommitLog)"
    )


LIMIT_BYTES = 64 << 9


def test_missing_space_for_the_first_message_is_answered(tmp_path: Path) -> None:
    """A limit on the size of files stands for a full disk: the same calls fail."""
    command = [sys.executable, "-m", "fakemq", *PORTS, "--store", str(tmp_path)]
    with subprocess.Popen(
        [*command, "--topic", "orders:1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    ) as process:
        assert process.stdout is not None
        ready = re.search(r"namesrv (\S+),", process.stdout.readline())
        assert ready is not None
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (LIMIT_BYTES, LIMIT_BYTES))
        try:
            with Client(ready[1]) as client:
                for _ in range(2):
                    with pytest.raises(MQClientError) as raised:
                        client.send(Message("orders", b"x"))
        finally:
            process.terminate()
        _, errors = process.communicate(timeout=20)
    log = f"{tmp_path}/{NODE}/commitlog/{0:020}"
    assert f"broken. Here {log}: cannot be opened: File too large." in str(raised.value.__cause__)
    assert process.returncode == 0
    assert errors == (
        f"{NODE}: {log}: cannot be opened: File too large: messages are refused with"
        " CREATE_MAPEDFILE_FAILED until something is deleted or the cluster is reset\n"
    )


def test_invalid_store_path_is_one_line(tmp_path: Path) -> None:
    (tmp_path / NODE / "commitlog").mkdir(parents=True)
    (tmp_path / NODE / "commitlog" / f"{0:020}").write_bytes(b"short")
    done = serve("--store", str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"Error: {tmp_path}/{NODE}/commitlog/{0:020}: has 5 bytes where the config says"
        " 1073741824; start with the sizes it was written with, or move it away\n"
    )


def test_directory_in_use_is_one_line(tmp_path: Path) -> None:
    with fakemq.Cluster(store=str(tmp_path)):
        done = serve("--store", str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"Error: {tmp_path}/{NODE}: Lock failed,MQ already started:"
        " another broker has this store open\n"
    )


def test_impossible_directory_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = serve("--store", str(tmp_path / "file"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"Error: {tmp_path}/file/{NODE}")
    assert "Not a directory" in done.stderr
    assert done.stderr.count("\n") == 1
