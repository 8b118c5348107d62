"""A real broker still has the metrics of the recording that fakemq is compared with."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from conformance.live.groups import WAITING
from conformance.metrics.real import scrape_of_java
from conformance.metrics.scrape import normalised, recorded

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180), WAITING]  # a JVM, timers in real time


def test_metrics_of_a_real_broker_are_those_recorded(java: None) -> None:
    text = scrape_of_java()
    assert normalised(text) == recorded("broker")
    assert len([*text_string_to_metric_families(text)]) >= 40
