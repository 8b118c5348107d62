"""The states of a node and the transitions between them."""

from __future__ import annotations

import pytest

from fakemq.dispatch.node import NodeState

LEGAL = {
    ("stopped", "running"),
    ("running", "paused"),
    ("running", "stopping"),
    ("running", "stopped"),
    ("paused", "running"),
    ("paused", "stopped"),
    ("stopping", "stopped"),
}


@pytest.mark.parametrize("first", NodeState)
@pytest.mark.parametrize("second", NodeState)
def test_state_follows_only_by_a_legal_transition(first: NodeState, second: NodeState) -> None:
    if (first.value, second.value) in LEGAL:
        assert first.then(second) is second
    else:
        with pytest.raises(AssertionError, match=f"from {first} to {second}"):
            first.then(second)


def test_node_is_up_when_it_runs_or_is_paused() -> None:
    assert [state for state in NodeState if state.is_up] == [NodeState.RUNNING, NodeState.PAUSED]
