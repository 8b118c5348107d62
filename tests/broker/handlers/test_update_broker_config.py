"""UPDATE_BROKER_CONFIG: what it changes at once, and when name servers are notified."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.broker.seeding import seed
from fakemq.events import Warned
from fakemq.protocol.bodies.topic import DataVersion, RegisterBrokerBody
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.limits import CONFIG_BODY_MAX_BYTES
from tests.support.broker_lab import BrokerLab, Send
from tests.support.clients import pull
from tests.support.peer import Peer


def update(peer: Peer, text: str) -> RemotingCommand:
    return peer.ask(RequestCode.UPDATE_BROKER_CONFIG, body=text.encode())


def shown(peer: Peer) -> tuple[dict[str, str], int]:
    """The config as admins see it, and how often it was changed."""
    response = peer.ask(RequestCode.GET_BROKER_CONFIG)
    lines = response.body.decode().splitlines()
    version = DataVersion.decode(response.ext_fields["version"].encode())
    return dict(line.split("=", 1) for line in lines), version.counter


def test_changed_key_is_effective_at_once(broker: Broker, peer: Peer, send: Send) -> None:
    response = update(peer, "maxMessageSize=100\nregionId = Nowhere\n")
    assert (response.code, response.remark) == (ResponseCode.SUCCESS, None)
    config, version = shown(peer)
    assert (config["maxMessageSize"], config["regionId"], version) == ("100", "Nowhere", 1)
    refused = send(b"x" * 101)
    assert refused.code == ResponseCode.MESSAGE_ILLEGAL
    assert "body length limit 100B" in (refused.remark or "")
    assert refused.ext_fields["MSG_REGION"] == "Nowhere"


def test_unchangeable_key_succeeds_with_a_version_and_a_warning(broker: Broker, peer: Peer) -> None:
    before, _ = shown(peer)
    assert update(peer, "noSuchKey=1\nfileReservedTime=many\n").code == ResponseCode.SUCCESS
    assert shown(peer) == (before, 1)
    texts = [warned.text for warned in broker.journal.find(Warned)]
    assert ["noSuchKey" in texts[0], "fileReservedTime=many" in texts[1]] == [True, True]
    assert len(texts) == 2


def test_missing_body_changes_neither_config_nor_version(peer: Peer) -> None:
    before = shown(peer)
    assert update(peer, "").code == ResponseCode.SUCCESS
    assert shown(peer) == before


def test_invalid_properties_text_is_refused(peer: Peer) -> None:
    response = update(peer, "regionId=\\u00zz")
    assert (response.code, response.remark) == (
        ResponseCode.SYSTEM_ERROR,
        "string2Properties error",
    )


def test_reset_restores_the_config(broker: Broker, peer: Peer) -> None:
    before = shown(peer)
    update(peer, "regionId=Nowhere")
    broker.reset()
    assert shown(peer) == before


@pytest.mark.parametrize(
    ("perm", "pulled"), [(4, ResponseCode.SUCCESS), (2, ResponseCode.NO_PERMISSION)]
)
def test_name_servers_are_notified_of_a_permission_before_the_answer(
    lab: BrokerLab, perm: int, pulled: ResponseCode
) -> None:
    name_server = lab.name_server("10.0.0.1:9876")
    broker = lab.broker(namesrv_addrs=("10.0.0.1:9876",))
    peer = lab.peer(broker.addr)
    broker.create_topic("orders", 1)
    seed(broker, "orders", 0, b"x")
    lab.network.settle()
    name_server.requests.clear()
    version = broker.topics.data_version.counter
    assert update(peer, f"brokerPermission={perm}").code == ResponseCode.SUCCESS
    (request,) = name_server.requests
    topics = RegisterBrokerBody.decode(request.body).topic_config_serialize_wrapper
    assert {config.perm for config in topics.topic_config_table.values()} == {perm}
    assert topics.data_version.counter == version + 1
    assert pull(peer).code == pulled


def test_name_servers_are_notified_of_an_invalid_permission_too(lab: BrokerLab) -> None:
    name_server = lab.name_server("10.0.0.1:9876")
    broker = lab.broker(namesrv_addrs=("10.0.0.1:9876",))
    name_server.requests.clear()
    name_server.answer = lambda request: None
    answer = lab.peer(broker.addr).send(
        RequestCode.UPDATE_BROKER_CONFIG, body=b"brokerPermission=abc", timeout_ms=20_000
    )
    assert name_server.codes() == [RequestCode.REGISTER_BROKER]
    assert not answer.over
    lab.clock.advance("6s")
    assert answer.response is not None
    assert broker.config.broker_permission == 6


def test_new_name_servers_are_followed_within_two_minutes(lab: BrokerLab) -> None:
    old, new = lab.name_server("10.0.0.1:9876"), lab.name_server("10.0.0.2:9876")
    broker = lab.broker(namesrv_addrs=("10.0.0.1:9876",))
    lab.clock.advance("20s")
    peer = lab.peer(broker.addr)
    assert update(peer, "namesrvAddr=10.0.0.2:9876").code == ResponseCode.SUCCESS
    old.requests.clear()
    lab.clock.advance("109s")
    assert (bool(old.codes()), new.codes()) == (True, [])
    lab.clock.advance("1s")  # 10 s after the start, then every 2 minutes
    old.requests.clear()
    lab.clock.advance("30s")
    assert (old.codes(), set(new.codes())) == ([], {RequestCode.REGISTER_BROKER})


def test_unsupported_key_is_ignored_with_a_warning(broker: Broker, peer: Peer) -> None:
    before, _ = shown(peer)
    text = "enableDLegerCommitLog=true\nuseTLS=false\nregionId=Nowhere\n"
    assert update(peer, text).code == ResponseCode.SUCCESS
    assert shown(peer)[0] == before | {"regionId": "Nowhere"}
    (warned,) = broker.journal.find(Warned)
    assert warned.text == (
        "UPDATE_BROKER_CONFIG: enableDLegerCommitLog=true is not supported yet;"
        " supported: no DLedger"
    )


def test_oversized_text_is_refused(peer: Peer) -> None:
    refused = update(peer, "k" * (CONFIG_BODY_MAX_BYTES + 1))
    assert (refused.code, refused.remark) == (1, "string2Properties error")
