"""What tests of several folders share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fakemq.serving.listener import Port
from tests.support.tcp import HOST


@pytest.fixture
def port() -> Iterator[Port]:
    port = Port(HOST, 0)
    yield port
    port.close()


@pytest.fixture(scope="session")
def written_node(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of `write_node`; tests do not change it."""
    from tests.support.written_store import write_node  # few tests start a cluster

    return write_node(tmp_path_factory.mktemp("written"))


@pytest.fixture
def node(written_node: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(written_node, tmp_path / written_node.name))
