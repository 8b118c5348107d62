"""A flag of a method takes True or False: the text "no" would count as true."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest

import fakemq
from fakemq import handles
from fakemq.config.option_types import ClusterOptions

Call = Callable[[fakemq.Cluster, Any], object]
CALLS: dict[str, Call] = {
    "advance outside_peers": lambda mq, no: mq.clock.advance("1s", outside_peers=no),
    "advance_to outside_peers": lambda mq, no: mq.clock.advance_to(
        "2100-01-01T00:00:00Z", outside_peers=no
    ),
    "advance_to_next outside_peers": lambda mq, no: mq.clock.advance_to_next(
        "heartbeat", outside_peers=no
    ),
    "run_until outside_peers": lambda mq, no: mq.run_until(
        lambda: True, at_most="1s", outside_peers=no
    ),
    "partition one_way": lambda mq, no: mq.partition("broker-a-0", "broker-a-1", one_way=no),
    "kill lose_unsynced": lambda mq, no: mq.broker("broker-a").kill(lose_unsynced=no),
    "kill silently": lambda mq, no: mq.producer(group="p").kill(silently=no),
    "delete offsets": lambda mq, no: mq.group("g").delete(offsets=no),
    "bind exclusive": lambda mq, no: mq.topic("orders").lite().bind("g", exclusive=no),
    "bind wildcard": lambda mq, no: mq.topic("orders").lite().bind("g", wildcard=no),
    "bind reset_offset": lambda mq, no: mq.topic("orders").lite().bind("g", reset_offset=no),
    "truncate_slave at_once": lambda mq, no: mq.faults.truncate_slave(
        "broker-a-1", lose_bytes=1, at_once=no
    ),
}
ONE_DOOR = {"must_fire"}
"""All faults pass `FaultPlacing._place`, which checks it."""


@pytest.fixture(scope="module")
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(clock="frozen", slaves=1, topics={"orders": 1}) as cluster:
        yield cluster


def flags_of_methods() -> set[str]:
    """Return the method and the name of each flag that a test can give."""
    modules = [
        import_module(one.name)
        for one in pkgutil.walk_packages(handles.__path__, handles.__name__ + ".")
    ]
    classes = {
        of
        for module in (fakemq, *modules)
        for of in vars(module).values()
        if inspect.isclass(of) and of.__module__.startswith(("fakemq.handles", "fakemq.cluster"))
    }
    return {
        f"{name} {parameter.name}"
        for of in classes
        for name, method in vars(of).items()
        if inspect.isfunction(method) and not name.startswith("_")
        for parameter in inspect.signature(method).parameters.values()
        if parameter.annotation == "bool" and parameter.name not in ONE_DOOR
    }


def test_every_flag_has_a_call_here() -> None:
    assert flags_of_methods() == CALLS.keys()


@pytest.mark.parametrize("what", CALLS)
@pytest.mark.parametrize("no", ["no", 1, None])
def test_flag_is_refused_when_it_is_no_bool(mq: fakemq.Cluster, what: str, no: object) -> None:
    before = mq.clock.now_ms()
    with pytest.raises(fakemq.ConfigError, match=f"{what.split()[1]}={no!r}: expected True or"):
        CALLS[what](mq, no)
    assert mq.clock.now_ms() == before
    assert [broker.state for broker in mq.brokers] == ["running", "running"]


def test_fault_is_refused_when_must_fire_is_no_bool(mq: fakemq.Cluster) -> None:
    no: Any = "no"
    with pytest.raises(fakemq.ConfigError, match="must_fire='no': expected True or"):
        mq.faults.disk_full("broker-a", must_fire=no)


OPTIONS = [
    name
    for name, kind in ClusterOptions.__annotations__.items()
    if getattr(kind, "__forward_arg__", kind) in ("bool", bool)
]


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("no", ["no", 1])
@pytest.mark.parametrize("cluster", [fakemq.Cluster, fakemq.AsyncCluster])
def test_option_is_refused_when_it_is_no_bool(cluster: Any, option: str, no: object) -> None:
    with pytest.raises(fakemq.ConfigError, match=f"{option}={no!r}: expected True or False"):
        cluster(**{option: no})


def test_options_of_a_cluster_have_a_flag() -> None:
    assert "strict" in OPTIONS
