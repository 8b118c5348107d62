"""GET_KVLIST_BY_NAMESPACE."""

from __future__ import annotations

from fakemq.protocol.codes import RequestCode
from tests.support.namesrv_lab import list_kv, put_kv
from tests.support.peer import Peer


def test_all_values_of_a_namespace_are_listed(peer: Peer) -> None:
    put_kv(peer, "N", "a", "1")
    put_kv(peer, "N", "b", "2")
    put_kv(peer, "M", "c", "3")
    response = list_kv(peer, "N")
    assert (response.code, response.body) == (0, b'{"table":{"a":"1","b":"2"}}')


def test_emptied_namespace_exists_and_an_unknown_one_does_not(peer: Peer) -> None:
    put_kv(peer, "N", "k", "v")
    peer.ask(RequestCode.DELETE_KV_CONFIG, ext_fields={"namespace": "N", "key": "k"})
    assert list_kv(peer, "N").body == b'{"table":{}}'
    response = list_kv(peer, "M")
    assert (response.code, response.remark) == (22, "No config item, Namespace: M")


def test_missing_namespace_is_read_as_null(peer: Peer) -> None:
    response = peer.ask(RequestCode.GET_KVLIST_BY_NAMESPACE)
    assert (response.code, response.remark) == (22, "No config item, Namespace: null")
