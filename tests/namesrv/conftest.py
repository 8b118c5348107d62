"""Fixtures for tests of the name server."""

from __future__ import annotations

import pytest

from tests.support.namesrv_lab import NamesrvLab
from tests.support.peer import Peer


@pytest.fixture
def lab() -> NamesrvLab:
    """A place for name servers."""
    return NamesrvLab()


@pytest.fixture
def peer(lab: NamesrvLab) -> Peer:
    """A connection to the first name server."""
    return lab.peer()
