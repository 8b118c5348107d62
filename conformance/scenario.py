"""Scenarios: written once, run on any cluster over sockets, and what they write down.

A scenario is a function of a `Run`. Every verb of a run adds to its transcript what was sent and
what came back, normalised; the transcript of the real cluster is the recording.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import NamedTuple

from conformance.run import Run, Target
from conformance.targets.java_jars import NEWEST, REFERENCE, REFERENCES

LONG_S = 15
"""What takes longer in real time is run on a real cluster when it is recorded only."""
ENDS_ON_FOUR = (REFERENCE,)
"""The releases of a scenario that waits for what 5.5.0 does not do; others show what it does."""
FAMILIES = ("replication", "expiry", "retry", "transaction")
"""Of scenarios that show what a real cluster needs minutes for: see `minutes`."""


class Scenario(NamedTuple):
    """One scenario; its recording is a file of the name of its function."""

    title: str
    function: Callable[[Run], None]
    config: Mapping[str, str] = {}
    """What its brokers are configured with: RocketMQ's own keys."""
    real_s: int = 0
    """How long it takes on a real cluster, roughly; where there is a ``quick``, without it."""
    slaves: int = 0
    """With one, it runs on a master and its slave, else on two masters."""
    family: str = ""
    """One of `FAMILIES`, if it is one of those that a real cluster needs minutes for."""
    quick: Mapping[str, str] = {}
    """What the real cluster is configured with besides where it would need hours: shorter times."""
    releases: tuple[str, ...] = ()
    """What it was recorded from, where that is not as `references` says."""
    grpc: bool = False
    """Whether it is about gRPC clients: a real cluster is of 5.x, and has a proxy of 5.5.0."""
    controllers: int = 0
    """How many controllers of 5.5.0 there are; each of the real ones is in a name server."""
    replicas: int = 0
    """How many replicas of broker-a the controllers elect the master of; there are no others."""
    stops: bool = False
    """Whether it stops nodes that others on its cluster would need meanwhile."""

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def references(self) -> tuple[str, ...]:
        """The releases it can be recorded from: only 4.9.7 if it is long or has a slave."""
        if self.controllers:
            return (NEWEST,)
        if self.grpc:
            return self.releases or REFERENCES[1:]
        return self.releases or ((REFERENCE,) if self.is_long or self.slaves else REFERENCES)

    @property
    def is_long(self) -> bool:
        """Whether it is run on a real cluster when it is recorded only."""
        return self.real_s > LONG_S

    @property
    def real_config(self) -> Mapping[str, str]:
        """What the brokers of a real cluster are configured with."""
        return {**self.config, **self.quick}

    def transcript(self, target: Target) -> str:
        """Run it, and give what was seen."""
        with Run(self.title, target).running() as run:
            if self.config:
                nodes = "controllers" if self.controllers and not self.replicas else "brokers"
                run.note(f"{nodes} with {_pairs(self.config)}")
            if self.quick:
                run.note(f"recorded with {_pairs(self.quick)}")
            if self.real_s:
                run.note(f"some {self.real_s} s in real time")
            self.function(run)
            return "".join(f"{line}\n" for line in run.lines)


def _pairs(config: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(config.items()))


_scenarios: dict[str, Scenario] = {}


def scenario(
    title: str,
    *,
    config: Mapping[str, str] | None = None,
    real_s: int = 0,
    slaves: int = 0,
    family: str = "",
    quick: Mapping[str, str] | None = None,
    releases: tuple[str, ...] = (),
    grpc: bool = False,
    controllers: int = 0,
    replicas: int = 0,
    stops: bool = False,
) -> Callable[[Callable[[Run], None]], Callable[[Run], None]]:
    """Register the function below as a scenario; its name names the recording.

    Scenarios of equal ``config`` without a slave share a real cluster; see `Scenario` for the rest.
    """

    def register(function: Callable[[Run], None]) -> Callable[[Run], None]:
        found = Scenario(
            *(title, function, config or {}, real_s, slaves, family, quick or {}, releases, grpc),
            *(controllers, replicas, stops),
        )
        if found.name in _scenarios:
            raise ValueError(f"two scenarios are called {found.name}")
        if family and family not in FAMILIES:
            raise ValueError(f"{found.name}: no family {family!r} among {FAMILIES}")
        _scenarios[found.name] = found
        return function

    return register


def scenarios(reference: str = REFERENCE) -> list[Scenario]:
    """Every scenario in the folder that can be recorded from a reference, by name."""
    folder = Path(__file__).parent / "scenarios"
    for module in sorted(one.name for one in iter_modules([str(folder)])):
        import_module(f"conformance.scenarios.{module}")
    found = [_scenarios[name] for name in sorted(_scenarios)]
    return [one for one in found if reference in one.references]


def minutes(reference: str = REFERENCE) -> list[Scenario]:
    """Those that a real cluster needs minutes for, family by family."""
    found = [one for one in scenarios(reference) if one.family]
    return sorted(found, key=lambda one: (FAMILIES.index(one.family), one.name))


def by_config(chosen: Iterable[Scenario]) -> list[tuple[Mapping[str, str], list[Scenario]]]:
    """Scenarios with those that can share a real cluster; those of the default config first.

    One that stops nodes, or has a slave, replicas or several controllers, has a cluster for itself:
    it leaves nodes that were killed and started. Those of gRPC clients need a proxy.
    """
    groups: dict[tuple[str, tuple[tuple[str, str], ...]], list[Scenario]] = {("", ()): []}
    for one in chosen:
        alone = one.stops or one.slaves or one.replicas or one.controllers > 1
        shared = "proxy" if one.grpc else "controller" if one.controllers else ""
        needs = one.name if alone else shared
        groups.setdefault((needs, tuple(sorted(one.real_config.items()))), []).append(one)
    return [(dict(config), found) for (_, config), found in groups.items() if found]
