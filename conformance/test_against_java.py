"""The real 4.9.7 cluster still says what was recorded of it.

Scenarios of more than 15 s in real time are left out: they ran there when they were recorded.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from conformance.compare import diff, recording
from conformance.scenario import Scenario, by_config, scenarios
from conformance.targets import java_target

# Slow: holds that end in real time, and real clusters to start.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.mark.parametrize(
    ("config", "together"),
    by_config(one for one in scenarios() if not one.is_long),
    ids=lambda value: " ".join(value) or "defaults" if isinstance(value, dict) else "",
)
def test_the_real_cluster_says_what_was_recorded(
    config: Mapping[str, str], together: list[Scenario], java: None
) -> None:
    with java_target(config) as target:
        found = [
            diff(recording(one), one.transcript(target), one, "RocketMQ 4.9.7") for one in together
        ]
    text = "\n".join(one for one in found if one)
    assert not text, f"record anew and read the difference:\n{text}"
