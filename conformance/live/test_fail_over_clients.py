"""The gRPC clients of five languages, at the fake's front, while the master of the brokers dies.

``python -m conformance.fail_over_clients`` has them behind Java's proxy and controller, too, and
Java's client of the remoting protocol besides, which takes up to 30 s to find the next master.
"""

from __future__ import annotations

import pytest

from conformance.drivers.official_clients import CLIENTS
from conformance.fail_over_clients import SENT, ours, run
from conformance.live.groups import CROWDED

# Slaves copy tables each 12 s, and what is not acknowledged comes again after 10 s.
pytestmark = [pytest.mark.slow, CROWDED]

SECONDS = 45
"""Each client sends from its own start, and still when slaves have the topics of the last one."""


def test_grpc_clients_lose_nothing_when_the_master_dies(java: None) -> None:
    kinds = ["java", "python", *(one.name for one in CLIENTS if one.missing() is None)]
    with ours() as place:
        found = run(place, kinds, SECONDS)
    for kind, seen in found.items():
        print(kind, seen.before, seen.after, seen.lost, seen.twice)
    assert {kind: seen.lost for kind, seen in found.items()} == dict.fromkeys(kinds, 0)
    assert min(seen.before for seen in found.values()) >= SENT
    assert min(seen.after for seen in found.values()) >= SENT
