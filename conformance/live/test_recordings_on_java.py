"""The real 4.9.7 cluster still says what was recorded of it.

Scenarios of more than 15 s in real time are left out: they ran there when they were recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from conformance.compare import diff, recording
from conformance.live.groups import WAITING
from conformance.scenario import Scenario, by_config, scenarios
from conformance.targets.fake_or_java import JavaTarget, java_target

# Slow: holds that end in real time, and real clusters to start.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), WAITING]


@pytest.mark.parametrize(
    ("config", "together"),
    by_config(one for one in scenarios() if not one.is_long),
    ids=lambda value: " ".join(value) or "defaults" if isinstance(value, dict) else "",
)
def test_the_real_cluster_says_what_was_recorded(
    config: Mapping[str, str], together: list[Scenario], java: None
) -> None:
    different = [one for one, _ in _different(config, together)]
    # Real threads: what a scenario shows by accident it does not show twice, on a fresh cluster.
    text = "\n".join(text for _, text in _different(config, different))
    assert not text, f"record anew and read the difference:\n{text}"


def _different(
    config: Mapping[str, str], together: list[Scenario]
) -> Iterator[tuple[Scenario, str]]:
    """The scenarios in which a fresh cluster differs from the recordings, and how."""
    if not together:
        return
    with java_target(config, together[0].slaves) as target:
        for one in together:
            found = diff(recording(one), _transcript(one, target), one, "RocketMQ 4.9.7")
            if found:
                print(found)
                yield one, found


def _transcript(one: Scenario, target: JavaTarget) -> str:
    try:
        return one.transcript(target)
    except (AssertionError, TimeoutError) as error:  # something came, or did not come
        return f"{error}\n"
