"""Our strategies divide as RocketMQ's own classes did when they were recorded.

``conformance/live/test_allocations.py`` asks RocketMQ's classes about 10,000 other inputs.
"""

from __future__ import annotations

from tests.support.allocations import divided, recorded


def test_six_strategies_divide_as_java_was_recorded() -> None:
    pairs = list(recorded())
    assert len(pairs) == 300
    wrong = [(one, java, ours) for one, java in pairs if (ours := divided(one)) != java]
    assert wrong[:3] == []


def test_recording_has_shares_and_refusals_of_every_strategy() -> None:
    by_strategy = list(zip(*(java for _, java in recorded()), strict=True))
    assert len(by_strategy) == 6
    for number, results in enumerate(by_strategy):
        assert sum(" " in one and one[0] != "!" for one in results) > 40
        refused = {one for one in results if one.startswith("!")}
        # By config, nothing is checked.
        assert len(refused) >= (0 if number == 2 else 3), refused
