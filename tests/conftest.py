"""What tests of several folders share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fakemq.serving.listener import Port
from tests.support.tcp import HOST


@pytest.fixture
def port() -> Iterator[Port]:
    port = Port(HOST, 0)
    yield port
    port.close()
