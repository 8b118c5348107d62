from __future__ import annotations

import pytest

from fakemq.broker.hosts import record_host
from fakemq.protocol.hosts import Host


@pytest.mark.parametrize(
    ("addr", "host"),
    [
        ("10.1.2.3:99", ("10.1.2.3", 99)),
        ("[::1]:99", ("::1", 99)),
        ("memory:7", ("127.0.0.1", 7)),
        ("rocketmq.example:99", ("127.0.0.1", 99)),
    ],
)
def test_what_is_no_address_is_the_local_host(addr: str, host: Host) -> None:
    assert record_host(addr) == host
