"""The real 4.9.7 cluster still says what was recorded of it."""

from __future__ import annotations

import pytest

from conformance.compare import diff, recording
from conformance.java_cluster import JavaCluster
from conformance.scenario import scenarios
from conformance.targets import JavaTarget

# Slow: holds that end in real time, and a real cluster to start.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_the_real_cluster_says_what_was_recorded(real_cluster: JavaCluster) -> None:
    target = JavaTarget(real_cluster)
    found = [
        diff(recording(one), one.transcript(target), one, "RocketMQ 4.9.7") for one in scenarios()
    ]
    text = "\n".join(one for one in found if one)
    assert not text, f"record anew and read the difference:\n{text}"
