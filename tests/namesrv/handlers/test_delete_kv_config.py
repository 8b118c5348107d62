"""DELETE_KV_CONFIG."""

from __future__ import annotations

from fakemq.protocol.codes import RequestCode
from tests.support.namesrv_lab import get_kv, put_kv
from tests.support.peer import Peer


def delete(peer: Peer, **fields: str) -> int:
    return peer.ask(RequestCode.DELETE_KV_CONFIG, ext_fields=fields).code


def test_deleted_value_is_removed_and_its_neighbour_stays(peer: Peer) -> None:
    put_kv(peer, "N", "k", "v")
    put_kv(peer, "N", "l", "w")
    assert delete(peer, namespace="N", key="k") == 0
    assert get_kv(peer, "N", "k").code == 22
    assert get_kv(peer, "N", "l").ext_fields == {"value": "w"}


def test_deleting_an_unknown_key_succeeds(peer: Peer) -> None:
    assert delete(peer, namespace="nowhere", key="k") == 0
    assert delete(peer) == 0
