"""GET_KV_CONFIG."""

from __future__ import annotations

from fakemq.protocol.codes import RequestCode
from tests.support.namesrv_lab import get_kv, put_kv
from tests.support.peer import Peer


def test_unknown_key_is_not_found(peer: Peer) -> None:
    put_kv(peer, "N", "k", "v")
    for namespace, key in (("N", "other"), ("M", "k")):
        response = get_kv(peer, namespace, key)
        expected = f"No config item, Namespace: {namespace} Key: {key}"
        assert (response.code, response.remark, response.ext_fields) == (22, expected, {})


def test_missing_field_is_read_as_null(peer: Peer) -> None:
    response = peer.ask(RequestCode.GET_KV_CONFIG)
    assert (response.code, response.remark) == (22, "No config item, Namespace: null Key: null")
