"""PUT_KV_CONFIG."""

from __future__ import annotations

import json

from fakemq.protocol.codes import RequestCode
from tests.support.namesrv_lab import get_kv, list_kv, put_kv
from tests.support.peer import Peer


def test_value_is_stored_and_replaced(peer: Peer) -> None:
    stored = put_kv(peer, "N", "k", "v")
    assert (stored.code, stored.remark, stored.body) == (0, None, b"")
    assert get_kv(peer, "N", "k").ext_fields == {"value": "v"}
    put_kv(peer, "N", "k", "w")
    assert get_kv(peer, "N", "k").ext_fields == {"value": "w"}


def test_missing_namespace_or_key_is_refused(peer: Peer) -> None:
    for fields in ({"key": "k", "value": "v"}, {"namespace": "N", "value": "v"}, {}):
        response = peer.ask(RequestCode.PUT_KV_CONFIG, ext_fields=fields)
        assert (response.code, response.remark) == (1, "namespace or key is null")


def test_missing_value_removes_the_key_and_leaves_the_namespace(peer: Peer) -> None:
    put_kv(peer, "N", "k", "v")
    fields = {"namespace": "N", "key": "k"}
    assert peer.ask(RequestCode.PUT_KV_CONFIG, ext_fields=fields).code == 0
    assert get_kv(peer, "N", "k").code == 22
    assert json.loads(list_kv(peer, "N").body) == {"table": {}}
