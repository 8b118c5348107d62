"""A real broker of 5.3.2 still says what was recorded where it differs from 5.5.0.

One broker, and scenarios that wait for nothing: all others ran when they were recorded.
"""

from __future__ import annotations

import pytest

from conformance.compare import diff, recorded, recording
from conformance.live.groups import WAITING
from conformance.targets.fake_or_java import java_target

# Slow: two JVMs to start.
pytestmark = [pytest.mark.slow, WAITING]

REFERENCE = "5.3.2"
CHOSEN = {
    *("batch_members", "consume_stats", "create_group", "create_topic", "delay_batch"),
    *("every_code", "group_config_v5", "missing_fields", "own_properties", "pop_records"),
    *("query_by_tags", "request_mode", "send_codes", "topic_attributes", "wild_bodies"),
}


def test_real_broker_says_what_was_recorded(java: None) -> None:
    chosen = [one for one in recorded(REFERENCE) if one.name in CHOSEN]
    assert len(chosen) == len(CHOSEN)
    with java_target(reference=REFERENCE, masters=1) as target:
        found = [
            diff(recording(one, REFERENCE), one.transcript(target), one, f"RocketMQ {REFERENCE}")
            for one in chosen
        ]
    text = "\n".join(filter(None, found))
    assert not text, f"record anew and read the difference:\n{text}"
