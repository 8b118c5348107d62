"""All fault points are in one file; those that code intercepts are set by the effect modules."""

from __future__ import annotations

from importlib import import_module

import pytest

from fakemq.faults import points
from fakemq.faults.plan import Point

EFFECTS = {
    "BEFORE_STORE": "fakemq.dispatch.faults",
    "BEFORE_REPLY": "fakemq.dispatch.faults",
    "BEFORE_RPC": "fakemq.proxy.faults",
    "BEFORE_RPC_REPLY": "fakemq.proxy.faults",
    "TO_CLIENT": "fakemq.broker.faults",
    "CONSUMER_LIST": "fakemq.broker.faults",
    "VIEW": "fakemq.namesrv.faults",
}


def test_points_have_names_of_their_own() -> None:
    names = [one.name for one in vars(points).values() if isinstance(one, Point)]
    assert len(names) == len(set(names)) == 30


def test_every_intercept_point_has_a_module_with_effects() -> None:
    intercepted = [
        name for name, one in vars(points).items() if isinstance(one, points.InterceptPoint)
    ]
    assert intercepted == list(EFFECTS)


@pytest.mark.parametrize(("name", "module"), EFFECTS.items())
def test_effect_module_sets_the_intercept_of_its_point(name: str, module: str) -> None:
    effects = vars(import_module(module))
    assert getattr(points, name).intercept in effects.values()
