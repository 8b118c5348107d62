"""A broker of 5.5.0; the client of ``tests/broker/conftest.py`` is connected to it."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab


@pytest.fixture
def broker(lab: BrokerLab) -> Broker:
    return lab.broker(reference=REFERENCE)
