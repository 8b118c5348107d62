"""Which peers may say for whom they connect."""

from __future__ import annotations

import pytest

from fakemq.protocol.networks import contains, networks


@pytest.mark.parametrize(
    ("named", "addr", "expected"),
    [
        ("10.0.0.1", "10.0.0.1:80", True),
        ("10.0.0.1", "10.0.0.2:80", False),
        ("10.0.0.0/8", "10.9.9.9:80", True),
        ("10.0.0.0/8", "[::ffff:10.9.9.9]:80", True),
        ("::1", "[::1]:80", True),
        ("fe80::/10", "[fe80::1%eth0]:80", True),
        ("::1", "127.0.0.1:80", False),
        ("0.0.0.0/0", "[2001:db8::1]:80", False),
        ("10.0.0.1", "not an address:80", False),
    ],
)
def test_peer_is_named_by_its_address_or_its_network(named: str, addr: str, expected: bool) -> None:
    assert contains(networks([named]), addr) is expected


def test_without_names_no_peer_is_believed() -> None:
    assert not contains(networks([]), "127.0.0.1:80")
