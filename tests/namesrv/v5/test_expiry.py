"""How often a name server of 5.5.0 looks for silent brokers."""

from __future__ import annotations

import pytest

from fakemq.config.v5.model import NamesrvConfig5
from fakemq.errors import ConfigError
from fakemq.events import BrokerGone
from fakemq.protocol.codes import RequestCode
from fakemq.reference.v5 import REFERENCE
from tests.support.namesrv_lab import NamesrvLab, register, topic
from tests.support.peer import Peer


@pytest.fixture
def lab() -> NamesrvLab:
    return NamesrvLab()


def peer_of(lab: NamesrvLab, config: NamesrvConfig5) -> Peer:
    return lab.peer(lab.name_server(config, reference=REFERENCE))


@pytest.mark.parametrize(("period_ms", "gone_s"), [(5_000, 125), (100_000, 205)])
def test_silent_broker_expires_at_the_scan_of_the_config(
    lab: NamesrvLab, period_ms: int, gone_s: int
) -> None:
    peer = peer_of(lab, NamesrvConfig5(scan_not_active_broker_interval=period_ms))
    lab.clock.advance("1s")
    register(peer, topic("T"), topic("U"))
    for _ in range(gone_s // 60):
        lab.clock.advance("60s")
        peer.ask(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
    lab.clock.advance(gone_s % 60 - 1.001)
    assert lab.journal.find(BrokerGone) == []
    lab.clock.advance("1ms")
    assert [gone.why for gone in lab.journal.find(BrokerGone)] == ["expired"]


def test_name_server_with_an_interval_of_0_does_not_start(lab: NamesrvLab) -> None:
    config = NamesrvConfig5(scan_not_active_broker_interval=0)
    with pytest.raises(ConfigError, match="scanNotActiveBrokerInterval=0: expected 1 or more"):
        lab.name_server(config, reference=REFERENCE)
