"""Sends to a master whose slave may act: each waits for as many replicas as lived at its put."""

from __future__ import annotations

from tests.support.replication import OK, SYNC, TIMEOUT, Replicated, code

CONFIG = {
    "enableSlaveActingMaster": "true",
    "totalReplicas": "2",
    "inSyncReplicas": "2",
    "minInSyncReplicas": "1",
    "enableAutoInSyncReplicas": "true",
}
SYNCED_MS = 5_000
"""After this each broker knows which of its group live."""


def pair() -> Replicated:
    made = Replicated(reference="5.5.0", role=SYNC, config=CONFIG)
    made.core.advance(SYNCED_MS)
    return made


def test_send_that_needs_the_master_alone_passes_one_that_waits() -> None:
    made = pair()
    made.slave.pause()
    first = made.send(b"first")
    made.core.network.settle()
    assert first.response is None
    made.kill(made.slave)
    made.core.advance(1_100)
    second = made.send(b"second")
    made.core.network.settle()
    assert code(second) is OK
    assert first.response is None
    made.core.advance(5_000)
    assert code(first) is TIMEOUT


def test_send_that_waits_needs_as_many_as_at_its_put() -> None:
    made = pair()
    made.slave.pause()
    first, second = made.send(b"first"), made.send(b"second")
    made.core.advance(1_000)
    assert (first.response, second.response) == (None, None)
    made.slave.resume()
    made.core.network.settle()
    assert (code(first), code(second)) == (OK, OK)
