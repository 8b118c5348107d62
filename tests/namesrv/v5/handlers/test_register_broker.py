"""REGISTER_BROKER (103): single topics, and slaves without a master."""

from __future__ import annotations

import pytest

from fakemq.config.v5.model import NamesrvConfig5
from fakemq.events.core import BrokerGone
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.reference import V4_9_7, Reference
from fakemq.reference.v5 import REFERENCE
from tests.support.namesrv_lab import NamesrvLab, register, route, topic

ONE, TWO = "10.0.0.1:10911", "10.0.0.2:10911"
TOPICS = topic("T"), topic("U")


def addrs(lab: NamesrvLab) -> dict[int, str]:
    return lab.servers[0].tables.broker_addr_table["broker-a"].broker_addrs


def test_single_topic_needs_a_registered_broker() -> None:
    lab = NamesrvLab()
    peer = lab.peer(lab.name_server(reference=REFERENCE))
    answer = register(peer, topic("T"))
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "register broker failed")
    assert route(peer, "T") is None
    assert register(peer, topic("T"), topic("U")).code == ResponseCode.SUCCESS
    assert register(peer, topic("V"), counter=2).code == ResponseCode.SUCCESS
    assert route(peer, "V") is not None


@pytest.mark.parametrize("returned", [True, False])
def test_topics_in_order_are_said_to_brokers_by_default(returned: bool) -> None:
    lab = NamesrvLab()
    config = NamesrvConfig5(return_order_topic_config_to_broker=returned)
    peer = lab.peer(lab.name_server(config, reference=REFERENCE))
    fields = {"namespace": "ORDER_TOPIC_CONFIG", "key": "T", "value": "broker-a:4"}
    peer.ask(RequestCode.PUT_KV_CONFIG, ext_fields=fields)
    answer = register(peer, topic("T"), topic("U"))
    assert answer.code == ResponseCode.SUCCESS
    assert (b"broker-a:4" in answer.body) is returned


@pytest.mark.parametrize(("state", "holder"), [(1, ONE), (2, TWO), (3, TWO)])
def test_id_stays_with_the_broker_of_the_later_master(state: int, holder: str) -> None:
    lab = NamesrvLab()
    peer = lab.peer(lab.name_server(reference=REFERENCE))
    register(peer, *TOPICS, addr=ONE, state=2)
    answer = register(peer, *TOPICS, addr=TWO, state=state)
    assert answer.code == ResponseCode.SUCCESS
    assert addrs(lab) == {0: holder}
    assert (TWO in lab.servers[0].tables.broker_live_table) is (holder == TWO)


def test_master_that_was_replaced_is_no_longer_alive() -> None:
    lab = NamesrvLab()
    peer = lab.peer(lab.name_server(reference=REFERENCE))
    register(peer, *TOPICS, addr=ONE, state=1)
    register(peer, *TOPICS, addr=TWO, state=2)
    register(peer, *TOPICS, addr=ONE, state=1, counter=2)
    assert addrs(lab) == {0: TWO}
    assert [event.why for event in lab.journal.find(BrokerGone)] == ["outdated"]
    # As a slave of the new master it is in the route again.
    answer = register(peer, *TOPICS, addr=ONE, broker_id=1, state=2)
    assert answer.ext_fields["masterAddr"] == TWO
    assert addrs(lab) == {0: TWO, 1: ONE}


def test_slave_that_becomes_master_has_one_id() -> None:
    lab = NamesrvLab()
    peer = lab.peer(lab.name_server(reference=REFERENCE))
    register(peer, *TOPICS, addr=ONE, state=1)
    register(peer, *TOPICS, addr=TWO, broker_id=2, state=1)
    register(peer, *TOPICS, addr=TWO, state=2)
    assert addrs(lab) == {0: TWO}


@pytest.mark.parametrize("reference", [V4_9_7, REFERENCE], ids=["4.9.7", "5.5.0"])
def test_last_one_has_the_id_without_a_controller(reference: Reference) -> None:
    lab = NamesrvLab()
    peer = lab.peer(lab.name_server(reference=reference))
    register(peer, *TOPICS, addr=ONE)
    register(peer, *TOPICS, addr=TWO)
    assert addrs(lab) == {0: TWO}


def test_name_server_of_4_9_7_compares_no_states() -> None:
    lab = NamesrvLab()
    peer = lab.peer(lab.name_server())
    register(peer, *TOPICS, addr=ONE, state=2)
    register(peer, *TOPICS, addr=TWO, state=1)
    assert addrs(lab) == {0: TWO}
