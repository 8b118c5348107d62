"""Every timer of a client has a kind of the clock: a client inside a cluster can start it."""

from __future__ import annotations

import re

from fakemq.clock.timers import DOMAINS
from tests.support.imports import ROOT

KIND = re.compile(r'"(client_[a-z]+|heartbeat)"')


def test_every_kind_of_the_client_has_a_row() -> None:
    used = {
        kind
        for path in (ROOT / "fakemq/client").rglob("*.py")
        for kind in KIND.findall(path.read_text(encoding="utf-8"))
    }
    assert len(used) > 8
    assert used <= DOMAINS.keys()
