"""A broker of 5.5.0 with a parent of lite topics and a group that is bound to it."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from tests.support.broker_lab import BrokerLab
from tests.support.lites import lite_broker


@pytest.fixture
def broker(lab: BrokerLab) -> Broker:
    return lite_broker(lab)
