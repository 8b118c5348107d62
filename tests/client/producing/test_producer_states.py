"""Any order of starts, sends and shutdowns of producers that share a client and a group."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from fakemq.client.errors import MQClientError
from tests.support.producer_lab import ProducerLab, order

GROUPS = ("one", "one", "two", "not/valid")
PRODUCERS = st.integers(0, len(GROUPS) - 1)


class ProducerLives(RuleBasedStateMachine):
    """Compares producers with what seeds of the project and Java say about their states."""

    def __init__(self) -> None:
        super().__init__()
        self.lab = ProducerLab()
        self.producers = [self.lab.producer(group) for group in GROUPS]
        self.states = ["CREATE_JUST"] * len(GROUPS)

    def taken(self, group: str) -> bool:
        return (group, "RUNNING") in zip(GROUPS, self.states, strict=True)

    @rule(number=PRODUCERS)
    def start(self, number: int) -> None:
        task = self.producers[number].start()
        if self.states[number] != "CREATE_JUST":
            with pytest.raises(MQClientError, match=f"started once, {self.states[number]}"):
                self.lab.carrier.run(task)
        elif GROUPS[number] == "not/valid":
            self.states[number] = "START_FAILED"
            with pytest.raises(MQClientError, match="illegal characters"):
                self.lab.carrier.run(task)
        elif self.taken(GROUPS[number]):
            with pytest.raises(MQClientError, match="has been created before"):
                self.lab.carrier.run(task)
        else:
            self.lab.carrier.run(task)
            self.states[number] = "RUNNING"

    @rule(number=PRODUCERS)
    def shutdown(self, number: int) -> None:
        self.lab.carrier.run(self.producers[number].shutdown())
        if self.states[number] == "RUNNING":
            self.states[number] = "SHUTDOWN_ALREADY"

    @rule(number=PRODUCERS)
    def send(self, number: int) -> None:
        before = len(self.lab.sends())
        if self.states[number] == "RUNNING":
            self.lab.carrier.run(self.producers[number].send(order()))
            assert len(self.lab.sends()) == before + 1
        else:
            with pytest.raises(MQClientError, match=f"not OK, {self.states[number]}"):
                self.lab.carrier.run(self.producers[number].send(order()))
            assert len(self.lab.sends()) == before

    @rule(ms=st.sampled_from([1, 1_000, 30_000]))
    def time_passes(self, ms: int) -> None:
        self.lab.carrier.advance(ms)

    @invariant()
    def states_are_as_expected(self) -> None:
        assert [one.state.value for one in self.producers] == self.states

    @invariant()
    def running_groups_are_registered(self) -> None:
        running = {
            group for group, state in zip(GROUPS, self.states, strict=True) if state == "RUNNING"
        }
        assert set(self.lab.services.producers) == running
        assert set(self.lab.services.instance.producer_groups) == running


TestProducerLives = ProducerLives.TestCase
TestProducerLives.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)
