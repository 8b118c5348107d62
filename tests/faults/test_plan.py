"""Which fault applies: scope, order, how often; and what of it is written down."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.clock.clock import Clock
from fakemq.errors import ConfigError
from fakemq.events import NodeStopped
from fakemq.events.faults import FaultHit, FaultPlaced, FaultRemoved
from fakemq.faults.plan import ALWAYS, ONCE, ActiveFault, FaultPlan, Point, Scope, When
from fakemq.handles.faults import Often, when
from fakemq.journal.journal import Journal
from fakemq.randomness import Randomness

ANYWHERE = Scope()


def new_plan(seed: int = 0) -> FaultPlan:
    return FaultPlan(Journal(Clock(frozen=True)), Randomness(seed))


POINT: Point[str] = Point("here")


def place(plan: FaultPlan, action: str, scope: Scope, often: When = ALWAYS) -> ActiveFault[str]:
    return plan.place(POINT, action, action, scope, often)


def taken(plan: FaultPlan, happening: Scope) -> str | None:
    chosen = plan.choose(POINT, happening)
    if chosen is None:
        return None
    chosen.hit("broker-a-0", "it")
    return chosen.action


def test_narrowest_then_oldest_fault_applies() -> None:
    plan = new_plan()
    place(plan, "any", ANYWHERE)
    place(plan, "topic", Scope(topic="orders"))
    place(plan, "topic again", Scope(topic="orders"))
    place(plan, "topic and group", Scope(topic="orders", group="billing"))
    assert taken(plan, Scope(topic="orders", group="billing")) == "topic and group"
    assert taken(plan, Scope(topic="orders", group="other")) == "topic"
    assert taken(plan, Scope(topic="bills")) == "any"


def test_fault_applies_its_number_of_times() -> None:
    plan = new_plan()
    place(plan, "once", ANYWHERE, ONCE)
    place(plan, "twice", ANYWHERE, When(2))
    assert [taken(plan, ANYWHERE) for _ in range(4)] == ["once", "twice", "twice", None]
    assert [fault.fired for fault in plan.all()] == [1, 2]
    assert not plan.at(POINT)


def test_on_call_counts_covered_requests_whichever_fault_applied() -> None:
    plan = new_plan()
    place(plan, "third", Scope(topic="orders"), When(on_call=3))
    first = place(plan, "first", Scope(topic="orders", queue=0), ONCE)
    seen = [taken(plan, Scope(topic="orders", queue=0)) for _ in range(4)]
    assert seen == ["first", None, "third", None]
    assert first.exhausted
    assert not plan.at(POINT)


def test_on_call_fault_ends_when_another_fault_took_its_request() -> None:
    plan = new_plan()
    place(plan, "wide", ANYWHERE, When(on_call=1))
    place(plan, "narrow", Scope(topic="orders"))
    assert taken(plan, Scope(topic="orders")) == "narrow"
    assert [fault.unused for fault in plan.all()] == [True, False]
    assert taken(plan, Scope(topic="bills")) is None


def test_probability_follows_the_seed() -> None:
    def run(seed: int) -> list[str | None]:
        plan = new_plan(seed)
        place(plan, "maybe", ANYWHERE, When(None, None, 0.5))
        return [taken(plan, ANYWHERE) for _ in range(40)]

    assert run(1) == run(1) != run(2)
    assert 5 < run(1).count("maybe") < 35


def test_removed_and_cleared_faults_do_not_apply() -> None:
    plan = new_plan()
    ended = []
    placed = plan.place(POINT, "x", "x", ANYWHERE, ALWAYS, on_end=lambda: ended.append(1))
    placed.remove()
    placed.remove()
    assert ended == [1]
    assert taken(plan, ANYWHERE) is None
    assert repr(placed) == "<fault 1 x, always, fired 0 times, removed>"
    place(plan, "y", ANYWHERE, ONCE)
    plan.clear()
    assert [fault.unused for fault in plan.all()] == [True, True]
    assert not any(fault.placed for fault in plan.all())
    assert place(plan, "z", ANYWHERE).number == 3  # numbers continue, as those of the journal do
    plan.reset()
    assert plan.all() == []
    assert place(plan, "z", ANYWHERE).number == 1


def test_hits_are_journalled_as_causes() -> None:
    plan = new_plan()
    placed = place(plan, "x", Scope(node="broker-a-0"), ONCE)
    journal = plan.journal
    with journal.because(placed.hit("broker-a-0", "a send")):
        journal.add(NodeStopped(node="broker-a-0", how="kill"))
    journal.add(NodeStopped(node="broker-b-0", how="kill"))
    placed.remove()
    assert [(type(e.event), e.seq, e.cause) for e in journal] == [
        (FaultPlaced, 1, 0),
        (FaultHit, 2, 0),
        (NodeStopped, 3, 2),
        (NodeStopped, 4, 0),
        (FaultRemoved, 5, 0),
    ]


SCOPES = st.builds(
    Scope,
    node=st.none() | st.sampled_from("ab"),
    topic=st.none() | st.sampled_from("tu"),
    queue=st.none() | st.integers(0, 1),
)


@given(st.lists(SCOPES, max_size=8), st.builds(Scope, node=st.just("a"), topic=st.just("t")))
def test_fault_choice_follows_the_rule_for_any_set_of_faults(
    scopes: list[Scope], happening: Scope
) -> None:
    plan = new_plan()
    for scope in scopes:
        place(plan, "", scope)
    chosen = plan.choose(POINT, happening)
    covering = [placed for placed in plan.all() if placed.scope.covers(happening)]
    if chosen is None:
        assert not covering
    else:
        best = max(placed.scope.narrowness for placed in covering)
        assert chosen is next(p for p in covering if p.scope.narrowness == best)


@pytest.mark.parametrize(
    ("often", "expected"),
    [
        ({}, ONCE),
        ({"times": 3}, When(3)),
        ({"on_call": 2}, When(1, 2)),
        ({"always": True}, ALWAYS),
        ({"probability": 0.5}, When(None, None, 0.5)),
        ({"times": 2, "probability": 0.5}, When(2, None, 0.5)),
    ],
)
def test_number_of_times_is_parsed(often: Often, expected: When) -> None:
    assert when(often) == expected


@pytest.mark.parametrize(
    "often",
    [
        {"times": 1, "always": True},
        {"times": 0},
        {"times": "2"},
        {"on_call": True},
        {"probability": 2},
        {"probability": True},
        {"probability": "often"},
    ],
)
def test_contradicting_limits_are_refused(often: Often) -> None:
    with pytest.raises(ConfigError):
        when(often)
