"""What a start says of a store directory: nothing of a whole one, a line of each damage."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.disk_lab import DiskLab
from tests.support.time import START_MS


@pytest.mark.parametrize("keyed", [0, 5])
def test_start_after_messages_without_keys_repairs_nothing(tmp_path: Path, keyed: int) -> None:
    with DiskLab(tmp_path) as lab:
        for number in range(keyed + 5):
            lab.put(properties="KEYS\x01k\x02" if number < keyed else "")
    for stored in (0, 1):
        with DiskLab(tmp_path) as lab:
            assert lab.repairs() == []
            found = lab.store.query_message("orders", "k", 64, 0, 2 * START_MS).buffers
            assert len(found) == keyed + stored
            if not stored:
                lab.put()
