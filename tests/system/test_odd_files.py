"""Stores with something else where a file belongs: one line at the start, at `dump` and for Spark.

An open of a pipe waits for its other end, and the reads of a device never end.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

import fakemq
from fakemq.cli import main
from fakemq.errors import ConfigError, FakemqError, StoreError
from fakemq.store.image import read
from fakemq.store.stored_node import find_nodes
from tests.support.written_store import SIZES

LOG, QUEUE = "commitlog/00000000000000004096", "consumequeue/orders/0/00000000000000000000"

pytestmark = [
    pytest.mark.timeout(20),
    pytest.mark.skipif(sys.platform == "win32", reason="it has no such files"),
]


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        here = os.getcwd()
        os.chdir(path.parent)  # the path of a socket has 108 bytes
        try:
            one.bind(path.name)
        finally:
            os.chdir(here)


KINDS: dict[str, tuple[Callable[[Path], object], str]] = {
    "pipe": (os.mkfifo, "Is a named pipe, not a regular file"),
    "socket": (make_socket, "Is a socket, not a regular file"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "Is a device, not a regular file"),
    "folder": (Path.mkdir, "Is a directory, not a regular file"),
    "loop": (lambda path: path.symlink_to(path.name), os.strerror(40)),
    "dangling": (
        lambda path: path.symlink_to("nowhere"),
        "Is a link to nothing, not a regular file",
    ),
}
PLACES = {
    "lock": "cannot keep a store here",
    "abort": "cannot be opened",
    "checkpoint": "cannot be opened",
    LOG: "cannot be opened",
    QUEUE: "cannot be opened",
    "index/20260101000000000": "cannot be opened",
    "config/topics.json": "cannot be opened",
    "config/consumerOffset.json.bak": "cannot be opened",
    "config/delayOffset.json.tmp": "cannot be opened",
}


def replace(path: Path, kind: str) -> None:
    path.unlink(missing_ok=True)
    KINDS[kind][0](path)


def refusal(node: Path) -> str:
    """The error of a start on a store, which leaves everything as it was."""
    before = sorted(str(path) for path in node.rglob("*"))
    with pytest.raises(StoreError) as raised:
        fakemq.Cluster(store=str(node.parent), config=SIZES).start()
    lock = str(node / "lock")
    assert sorted({*map(str, node.rglob("*")), lock}) == sorted({*before, lock})
    return str(raised.value).replace(str(node), "NODE")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
def test_odd_file_is_one_line_at_start(node: Path, place: str, kind: str) -> None:
    replace(node / place, kind)
    assert refusal(node) == f"NODE/{place}: {PLACES[place]}: {KINDS[kind][1]}"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
def test_odd_file_is_one_line_at_dump(node: Path, place: str, kind: str) -> None:
    replace(node / place, kind)
    for more in ([], ["--check"]):
        done = CliRunner().invoke(main, ["dump", str(node), *more])
        assert done.exception is None or isinstance(done.exception, SystemExit)
        if done.exit_code == 2:
            assert done.stderr == f"Error: {node / place}: cannot be read: {KINDS[kind][1]}\n"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", ["checkpoint", LOG, QUEUE])
def test_odd_file_is_one_line_for_a_copy(node: Path, place: str, kind: str) -> None:
    replace(node / place, kind)
    with pytest.raises(FakemqError) as raised:
        fakemq.Cluster(store_from=str(node), config=SIZES).start()
    assert str(raised.value).endswith(KINDS[kind][1])


@pytest.mark.parametrize("kind", ["pipe", "device", "loop", "dangling"])
def test_odd_file_is_an_error_of_the_reader(node: Path, kind: str) -> None:
    replace(node / LOG, kind)
    with pytest.raises(ConfigError, match=r"not a regular file|symbolic links"):
        find_nodes(str(node))


@pytest.mark.parametrize("folder", ["commitlog", "consumequeue", "index", "consumequeue/orders"])
def test_odd_folder_is_one_line(node: Path, folder: str) -> None:
    shutil.rmtree(node / folder)
    os.mkfifo(node / folder)
    why = "opened: Is a named pipe, not a regular file"
    if folder != "consumequeue/orders":
        why = "listed: Not a directory"
    assert refusal(node) == f"NODE/{folder}: cannot be {why}"


@pytest.mark.parametrize("place", ["commitlog", "consumequeue/orders/0", "consumequeue", "index"])
def test_name_that_is_no_utf8_is_one_line(node: Path, place: str) -> None:
    (node / os.fsdecode(b"%s/\xffk" % place.encode())).mkdir()
    assert refusal(node) == f"NODE/{place}/\\xffk: cannot be opened: The name is not UTF-8"


def test_store_in_a_folder_that_is_no_utf8_is_refused(tmp_path: Path) -> None:
    for path in (os.fsdecode(bytes(tmp_path) + b"/\xff"), f"{tmp_path}/\0"):
        for options in ({"store": path}, {"store_from": path}):
            with pytest.raises(ConfigError, match=r"expected a path in UTF-8, without NUL"):
                fakemq.Cluster(**options)  # type: ignore[arg-type]


def test_topic_on_another_disk_is_found(node: Path) -> None:
    elsewhere = shutil.move(node / "consumequeue" / "orders", node.parent / "elsewhere")
    (node / "consumequeue" / "orders").symlink_to(elsewhere)
    with fakemq.Cluster(store=str(node.parent), config=SIZES) as mq:
        assert len(mq.messages("orders")) == 60


def test_store_of_a_copy_is_that_of_its_directory(node: Path) -> None:
    with fakemq.Cluster(config=SIZES) as mq:
        config = mq.inspect(lambda core: core.broker("broker-a").config)
    assert {path.split("/")[0] for path in read(str(node), config).files} == {
        "commitlog",
        "consumequeue",
        "index",
    }
