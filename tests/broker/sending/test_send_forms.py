"""The forms a send can have: batches by every code, sysFlags and flags of all kinds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.broker.broker import Broker
from fakemq.protocol.batch import BatchMember, encode_batch
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.message import MessageExt
from fakemq.protocol.properties import encode_properties_as_java
from fakemq.protocol.sysflag import MessageSysFlag
from tests.support.broker_lab import BrokerLab, send_header, v1
from tests.support.peer import Peer

NAMES = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), min_size=1, max_size=8)
MEMBERS = st.lists(
    st.builds(
        BatchMember,
        body=st.binary(max_size=20),
        properties=st.dictionaries(NAMES, NAMES, max_size=3).map(
            lambda properties: encode_properties_as_java(properties).encode()
        ),
        flag=st.integers(-(2**31), 2**31 - 1),
    ),
    min_size=1,
    max_size=6,
)


def stored(broker: Broker, topic: str = "orders") -> list[MessageExt]:
    return list(broker.store.messages_in_queue(topic, 0))


def properties_behind(own: bytes, of_batch: bytes) -> bytes:
    between = b"" if not own or own.endswith(b"\x02") else b"\x02"
    return own + between + of_batch


@given(members=MEMBERS, code=st.sampled_from([10, 310, 320]), binary=st.booleans())
@settings(deadline=None, max_examples=50)
def test_members_of_a_batch_are_separate_messages(
    members: list[BatchMember], code: int, binary: bool
) -> None:
    lab = BrokerLab()
    broker = lab.broker()
    peer = lab.peer(broker.addr)
    header = send_header(batch=True, properties="WAIT\x01true", flag=9, reconsume_times=2)
    response = peer.ask(code, v1(header) if code == 10 else header, encode_batch(members))
    assert response.code == ResponseCode.SUCCESS
    assert response.ext_fields["queueOffset"] == "0"
    messages = stored(broker)
    assert response.ext_fields["msgId"].split(",") == [one.offset_msg_id for one in messages]
    # A batch keeps the WAIT that a single message loses.
    common = b"CLUSTER\x01DefaultCluster\x02WAIT\x01true"
    properties = [properties_behind(one.properties, common) for one in members]
    assert [
        (one.body, one.flag, one.properties_string.encode(), one.reconsume_times)
        for one in messages
    ] == [(one.body, one.flag, p, 2) for one, p in zip(members, properties, strict=True)]


@pytest.mark.parametrize("code", [10, 310, 320])
def test_encoded_batch_without_the_flag_is_one_message(
    broker: Broker, peer: Peer, code: int
) -> None:
    body = encode_batch([BatchMember(b"a"), BatchMember(b"b")])
    header = send_header()
    assert peer.ask(code, v1(header) if code == 10 else header, body).code == 0
    assert [one.body for one in stored(broker)] == [body]


@pytest.mark.parametrize(
    "fields",
    [
        {"properties": "DELAY\x013"},
        {"sys_flag": MessageSysFlag.TRANSACTION_PREPARED_TYPE},
        {"sys_flag": MessageSysFlag.TRANSACTION_COMMIT_TYPE},
    ],
)
def test_batch_is_neither_delayed_nor_transactional(
    broker: Broker, peer: Peer, fields: dict[str, str | int]
) -> None:
    header = send_header(batch=True)
    vars(header).update(fields)
    response = peer.ask(RequestCode.SEND_BATCH_MESSAGE, header, encode_batch([BatchMember(b"a")]))
    assert response.code == ResponseCode.MESSAGE_ILLEGAL
    assert stored(broker) == []


def test_delay_of_one_member_is_only_a_property(broker: Broker, peer: Peer) -> None:
    body = encode_batch([BatchMember(b"a", b"DELAY\x013\x02TRAN_MSG\x01true")])
    assert peer.ask(RequestCode.SEND_BATCH_MESSAGE, send_header(batch=True), body).code == 0
    (message,) = stored(broker)
    assert message.properties["DELAY"] == "3"


def test_batch_to_a_retry_topic_never_becomes_a_dead_letter(broker: Broker, peer: Peer) -> None:
    header = send_header("%RETRY%billing", batch=True, reconsume_times=99, max_reconsume_times=1)
    body = encode_batch([BatchMember(b"a")])
    assert peer.ask(RequestCode.SEND_BATCH_MESSAGE, header, body).code == 0
    assert [one.body for one in stored(broker, "%RETRY%billing")] == [b"a"]


@pytest.mark.parametrize("sys_flag", [1, 2, 8, 64, 128, 0x101, 0x201, 0x700, 0x4000, -(2**31)])
def test_unknown_flag_bits_are_stored(broker: Broker, peer: Peer, sys_flag: int) -> None:
    header = send_header(sys_flag=sys_flag)
    assert peer.ask(RequestCode.SEND_MESSAGE_V2, header, b"not compressed").code == 0
    (message,) = stored(broker)
    assert (message.sys_flag, message.body) == (sys_flag, b"not compressed")


@pytest.mark.parametrize("sys_flag", [4, 12])
def test_half_messages_and_rollbacks_enter_no_queue(
    broker: Broker, peer: Peer, sys_flag: int
) -> None:
    """Without the property that makes a transaction of it."""
    response = peer.ask(RequestCode.SEND_MESSAGE_V2, send_header(sys_flag=sys_flag), b"x")
    assert response.code == ResponseCode.SUCCESS
    assert stored(broker) == []
    place = int(response.ext_fields["msgId"][16:], 16)
    found = broker.store.look_message_by_offset(place)
    assert found is not None
    assert found.sys_flag == sys_flag


@pytest.mark.parametrize("sys_flag", [16, 32, 48])
def test_host_length_follows_the_address_not_the_clients_flags(
    broker: Broker, peer: Peer, sys_flag: int
) -> None:
    """Java writes a record then that no reader understands."""
    assert peer.ask(RequestCode.SEND_MESSAGE_V2, send_header(sys_flag=sys_flag), b"x").code == 0
    (message,) = stored(broker)
    assert message.sys_flag == 0
