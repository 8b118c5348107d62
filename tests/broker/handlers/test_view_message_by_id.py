"""VIEW_MESSAGE_BY_ID: the stored record at a log offset."""

from __future__ import annotations

from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.headers.query import ViewMessageRequestHeader
from tests.support.broker_lab import Send
from tests.support.peer import Peer


def test_stored_record_is_returned_unchanged(peer: Peer, send: Send) -> None:
    send(b"first")
    second = int(send(b"second").ext_fields["msgId"][16:], 16)
    response = peer.ask(RequestCode.VIEW_MESSAGE_BY_ID, ViewMessageRequestHeader(offset=second))
    assert (response.code, response.remark) == (ResponseCode.SUCCESS, None)
    assert int.from_bytes(response.body[:4]) == len(response.body)
    assert b"second" in response.body


def test_offset_without_a_record_is_not_found(peer: Peer, send: Send) -> None:
    send()
    response = peer.ask(RequestCode.VIEW_MESSAGE_BY_ID, ViewMessageRequestHeader(offset=9999999))
    assert (response.code, response.remark) == (
        ResponseCode.SYSTEM_ERROR,
        "can not find message by the offset, 9999999",
    )
