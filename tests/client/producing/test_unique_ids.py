"""Unique ids count the time since the month began in the program's own time zone, as Java's."""

from __future__ import annotations

import pytest

from fakemq.client.instance import ClientInstance
from fakemq.protocol.message_id import decode_unique_id
from tests.support.scripted_operation import NAMESRV
from tests.support.time import START_MS, ManualTime

HOUR_MS = 3_600_000
SINCE_MONTH_MS = ((13 * 24 + 22) * 60 + 13) * 60_000 + 20_000  # 14 November, 22:13:20 UTC


@pytest.mark.parametrize("east_h", [0, 8, -7])
def test_month_begins_at_local_midnight(east_h: int) -> None:
    instance = ClientInstance(NAMESRV, time=ManualTime(), utc_offset_ms=east_h * HOUR_MS)
    made = decode_unique_id(instance.unique_ids.create(START_MS))
    assert made.since_month_ms == SINCE_MONTH_MS + east_h * HOUR_MS
