"""The clusters that scenarios run on: the fake in this process, and the real one."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

import fakemq
from conformance.targets.accounts import PROXY_AUTH, RULES, needs_accounts
from conformance.targets.java_cluster import SMALL_JVM, JavaCluster
from conformance.targets.java_controllers import GROUP_OF_CONTROLLERS, JavaControllers
from conformance.targets.java_group import OTHER, has_another, java_group
from conformance.targets.java_jars import NEWEST, REFERENCE
from conformance.targets.java_proxy import java_proxy
from conformance.targets.master_slave_pairs import Member, Node, pair
from conformance.targets.replicas import send_until_safe
from conformance.wire.peer import SILENCE_S
from fakemq.client import Client
from fakemq.clock.machine_time import real_wall_ms
from fakemq.errors import ConfigWarning
from fakemq.handles.controllers import ControllerHandle

N = TypeVar("N", bound=Node)
MASTERS = 2
WIDE_JVM = (*SMALL_JVM, "-XX:MaxDirectMemorySize=1g")
"""Brokers that are sent bodies of 4 MiB run out of what JVMs of 256 MiB have for them."""
CONTROLLER_KEYS = {"controllerDLegerGroup": GROUP_OF_CONTROLLERS, "mappedFileSize": str(1 << 20)}
"""What controllers of a `JavaControllers` are configured with besides."""
QUIET_S = 0.02
"""How long nothing comes from the fake, which has sent by then whatever it will."""


class FakeTarget:
    """A frozen fakemq cluster: time passes when the scenario says so."""

    silence_s = QUIET_S
    places: Mapping[str, str] = {}

    def __init__(
        self,
        cluster: fakemq.Cluster,
        config: Mapping[str, str],
        reference: str = REFERENCE,
        grpc_addr: str = "",
        door_addr: str = "",
    ) -> None:
        self._cluster = cluster
        self.reference = reference
        self.nodes: dict[str, Node] = {}
        """Those that a test has asked for, and controllers."""
        self.namesrv_addr = cluster.namesrv_addr
        self.grpc_addr, self.door_addr = grpc_addr, door_addr
        self.config = config
        self._since_s = time.monotonic()

    def now_ms(self) -> int:
        return self._cluster.clock.now_ms()

    def unseen_s(self) -> float:
        return time.monotonic() - self._since_s

    def pass_time(self, ms: int) -> None:
        # A scenario's peers live in this process: for them time is the cluster's.
        self._cluster.clock.advance(ms / 1000, outside_peers=True)

    def broker(self, place: str) -> Node:
        if place not in self.nodes:
            self.nodes[place] = Member(self._cluster.broker(place))
        return self.nodes[place]


class JavaTarget:
    """A real cluster: time passes by itself."""

    silence_s = SILENCE_S
    places: Mapping[str, str] = {}

    def __init__(
        self,
        namesrv_addr: str,
        config: Mapping[str, str],
        broker: Callable[[str], Node],
        reference: str = REFERENCE,
        grpc_addr: str = "",
        door_addr: str = "",
    ) -> None:
        self.reference = reference
        self.namesrv_addr = namesrv_addr
        self.grpc_addr, self.door_addr = grpc_addr, door_addr
        self.config = config
        self.broker = broker

    def now_ms(self) -> int:
        return real_wall_ms()

    def unseen_s(self) -> float:
        return 0

    def pass_time(self, ms: int) -> None:
        time.sleep(ms / 1000)


@contextmanager
def fake_target(
    config: Mapping[str, str] | None = None,
    slaves: int = 0,
    reference: str = REFERENCE,
    *,
    grpc: bool = False,
    controllers: int = 0,
    replicas: int = 0,
) -> Iterator[FakeTarget]:
    """A fresh fake whose brokers are configured so: two masters, or one and its slave.

    With ``grpc``, it serves gRPC clients; with ``controllers``, these elect the master of
    ``replicas``.
    """
    config = config or {}
    if controllers:
        with _fake_controllers(config, controllers, replicas, reference) as target:
            yield target
        return
    masters = 1 if slaves and not has_another(config) else MASTERS
    acl = RULES if needs_accounts(config) and reference != NEWEST else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfigWarning)  # a key that only later releases have
        made = fakemq.Cluster(
            reference=reference,
            masters=masters,
            slaves=slaves,
            clock="frozen",
            config=config,
            acl=acl,
            grpc=grpc,
            proxy_remoting=grpc,
        )
    with made as cluster:
        grpc_addr = cluster.grpc_addr if grpc else ""
        door_addr = cluster.proxy.remoting_addr if grpc else ""
        target = FakeTarget(cluster, config, reference, grpc_addr, door_addr)
        if slaves and reference == NEWEST:
            names = {f"broker-a-{number}": number for number in range(1, 1 + slaves)}
            target.places = {
                "broker-a": cluster.broker("broker-a-0").addr,
                **{name: cluster.broker(name).addr for name in names},
            }
            target.nodes["broker-a"] = Member(cluster.broker("broker-a-0"))
            if has_another(config):
                target.places[OTHER] = cluster.broker("broker-b-0").addr
        yield target


@contextmanager
def java_target(
    config: Mapping[str, str] | None = None,
    slaves: int = 0,
    reference: str = REFERENCE,
    *,
    grpc: bool = False,
    masters: int = MASTERS,
    controllers: int = 0,
    replicas: int = 0,
) -> Iterator[JavaTarget]:
    """A fresh real cluster of a release whose brokers are configured so.

    With ``grpc``, it has a proxy; with ``controllers``, these elect the master of ``replicas``.
    """
    config = config or {}
    if controllers:
        with JavaControllers(controllers, replicas=replicas, config=config) as running:
            yield _java_controllers(running, config)
        return
    if slaves and reference == NEWEST:
        with java_group(slaves, config) as (namesrv_addr, brokers):
            target = JavaTarget(namesrv_addr, config, brokers.__getitem__, reference)
            target.places = {name: one.addr for name, one in brokers.items()}
            yield target
        return
    if slaves:
        assert reference == REFERENCE, "no slaves of 5.3.2"
        with _java_pair(config) as target:
            yield target
        return
    with ExitStack() as stack:
        real = JavaCluster(
            masters=masters,
            config=config,
            jvm=WIDE_JVM if grpc else SMALL_JVM,
            version=reference,
        )
        cluster = stack.enter_context(real)
        addrs = ("", "")
        if grpc:
            keys = PROXY_AUTH if config.get("authenticationEnabled") == "true" else {}
            proxy = stack.enter_context(java_proxy(cluster.namesrv_addr, keys))
            addrs = proxy.addr, proxy.door_addr
        yield JavaTarget(cluster.namesrv_addr, config, cluster.broker, reference, *addrs)


def _java_controllers(real: JavaControllers, config: Mapping[str, str]) -> JavaTarget:
    """The controllers that lead and follow are named as they are when the scenario begins."""
    leader_addr = real.leader_addr()
    nodes: dict[str, Node] = {**_leader_first(real.controllers, leader_addr), **real.brokers}
    target = JavaTarget(real.namesrv_addr, config, nodes.__getitem__, NEWEST)
    target.places = {name: node.addr for name, node in nodes.items()}
    return target


@contextmanager
def _fake_controllers(
    config: Mapping[str, str], controllers: int, replicas: int, reference: str
) -> Iterator[FakeTarget]:
    keys = {**CONTROLLER_KEYS, **config}
    slaves = max(replicas - 1, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfigWarning)  # mappedFileSize does nothing
        made = fakemq.Cluster(
            controllers=controllers,
            slaves=slaves,
            reference=reference,
            clock="frozen",
            config=keys,
        )
    with made as mq:
        target = FakeTarget(mq, config, reference)
        nodes: dict[str, Node] = {one.name: _FakeController(one) for one in mq.controllers}
        for controller_id in range(1, replicas + 1):
            name = f"broker-a@{controller_id}"
            nodes[name] = Member(mq.broker(name))
        target.nodes.update(nodes)
        target.places = {name: node.addr for name, node in nodes.items()}
        yield target


class _FakeController:
    """A controller of a cluster in this process."""

    def __init__(self, handle: ControllerHandle) -> None:
        self._handle = handle
        self.addr = handle.addr
        self.config: dict[str, str] = {}
        self.kill, self.stop, self.start = handle.kill, handle.stop, handle.restart
        self.pause, self.resume = handle.pause, handle.resume


def _leader_first(nodes: Sequence[N], leader_addr: str) -> dict[str, N]:
    """Return controllers by name: ``controller-0`` leads."""
    ordered = sorted(nodes, key=lambda one: one.addr != leader_addr)
    return {f"controller-{number}": one for number, one in enumerate(ordered)}


@contextmanager
def _java_pair(config: Mapping[str, str]) -> Iterator[JavaTarget]:
    """A SYNC_MASTER and its slave, which has all that its master has, as the fake's does."""
    with (
        tempfile.TemporaryDirectory(prefix="rocketmq-") as home,
        pair("java", "java", Path(home), config) as nodes,
    ):
        nodes.slave.start()
        with Client(nodes.namesrv_addr) as client:
            send_until_safe(client)
        brokers = {"broker-a": nodes.master, "broker-a-1": nodes.slave}
        yield JavaTarget(nodes.namesrv_addr, config, brokers.__getitem__)
