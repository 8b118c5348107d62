"""Names of lite topics and of their light queues."""

from __future__ import annotations

import pytest

from fakemq.protocol.v5.lite import belongs_to, is_lite_queue, lite_queue, parent_and_lite


def test_name_of_a_lite_queue_says_parent_and_lite_topic() -> None:
    queue = lite_queue("sessions", "s-1")
    assert queue == "%LMQ%$sessions$s-1"
    assert is_lite_queue(queue)
    assert parent_and_lite(queue) == ("sessions", "s-1")
    assert belongs_to(queue, "sessions")
    assert not belongs_to(queue, "session")


def test_empty_name_has_no_queue() -> None:
    assert lite_queue("", "a") is None
    assert lite_queue("sessions", "") is None


@pytest.mark.parametrize(
    "name",
    [
        "orders",
        "%LMQ%orders",
        "%LMQ%$",
        "%LMQ%$sessions",
        "%LMQ%$sessions$",
        "%LMQ%$$a",
        "%LMQ%$s$a$b",
    ],
)
def test_other_names_are_of_no_lite_topic(name: str) -> None:
    assert parent_and_lite(name) is None
