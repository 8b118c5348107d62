"""Clients by TLS see on fakemq what they see on a real cluster, which serves or refuses them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest

import fakemq
from conformance.drivers.java_program import SECURED_SCENARIO, SMALL_JVM, JavaProgram
from conformance.live.groups import WAITING
from conformance.live.python_clients import seen_by_clients
from conformance.targets import java_cluster
from conformance.targets.java_cluster import JavaCluster
from conformance.targets.java_jars import CLIENT_VERSIONS
from conformance.targets.processes import assert_same, together
from conformance.targets.quick_pair import QUICK
from conformance.targets.tls import Tls, namesrv
from fakemq.client import Client
from fakemq.client.errors import RemotingError
from tests.support.certificates import Certificates

# Slow: a real cluster, five real name servers, and two JVMs for each version of the client.
pytestmark = [pytest.mark.slow, WAITING]

SCENARIOS = ("sync", "batch", "push", "request", "transaction", "query")
"""Some of all kinds of requests, and of requests that a broker sends."""


@pytest.fixture(scope="module")
def tls() -> Iterator[Tls]:
    with closing(Tls()) as made:
        yield made


# -- served -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(java: None, tls: Tls) -> Iterator[JavaCluster]:
    jvm = (*java_cluster.SMALL_JVM, *tls.server_jvm("permissive"))  # it is asked if it is ready
    with JavaCluster(masters=2, config=QUICK, jvm=jvm) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def fake(tls: Tls) -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(
        masters=2, config=QUICK, tls="enforcing", tls_config=tls.config_file
    ) as cluster:
        yield cluster


@pytest.mark.parametrize("version", CLIENT_VERSIONS)
def test_java_client_by_tls_sees_the_same(
    real: JavaCluster, fake: fakemq.Cluster, tls: Tls, version: str
) -> None:
    jvm = (*SMALL_JVM, *tls.client_jvm())
    on_real = JavaProgram(real.namesrv_addr, version, jvm=jvm)
    on_fake = JavaProgram(fake.namesrv_addr, version, jvm=jvm)
    with together(on_real, on_fake):
        for scenario in SCENARIOS:
            on_real.begin(scenario)
            on_fake.begin(scenario)
        for scenario in SCENARIOS:
            assert_same(
                partial(on_real.observe, scenario),
                partial(on_fake.observe, scenario),
                partial(on_real.observe_again, scenario),
                partial(on_fake.observe_again, scenario),
            )


def test_python_client_by_tls_sees_the_same(
    real: JavaCluster, fake: fakemq.Cluster, tls: Tls
) -> None:
    def seen(namesrv_addr: str) -> list[str]:
        return seen_by_clients(namesrv_addr, "STlsPython", tls=True, tls_ca_file=tls.ca_file)

    with ThreadPoolExecutor(2) as both:
        expected = both.submit(seen, real.namesrv_addr)
        found = both.submit(seen, fake.namesrv_addr)
        assert found.result() == expected.result()


# -- refused -----------------------------------------------------------------------------------


KINDS = ("right", "wrong host", "expired", "unknown authority", "disabled")


class Servers:
    """A name server of each kind: real ones, and fakes in the same order."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        authority, other = Certificates(folder), Certificates(folder, "other")
        self.ca = authority.ca
        self.fake: list[str] = []
        nodes = []
        for kind in KINDS:
            home = folder / kind.replace(" ", "-")
            home.mkdir()
            cert, key = (other if kind == "unknown authority" else authority).pair(
                home.name,
                "example.org" if kind == "wrong host" else "127.0.0.1",
                expired=kind == "expired",
                netty=True,
            )
            file = home / "tls.properties"
            file.write_text(
                "tls.test.mode.enable=false\n"
                f"tls.server.certPath={cert}\ntls.server.keyPath={key}\n"
            )
            mode: Literal["disabled", "enforcing"] = (
                "disabled" if kind == "disabled" else "enforcing"
            )
            flags = (f"-Dtls.server.mode={mode}", f"-Dtls.config.file={file}")
            nodes.append(namesrv(home, flags))
            stack.callback(nodes[-1].kill)
            nodes[-1].launch()
            config_file = None if kind == "disabled" else str(file)  # it would have no effect
            cluster = fakemq.Cluster(tls=mode, tls_config=config_file)
            self.fake.append(stack.enter_context(cluster).namesrv_addr)
        for node in nodes:
            node.wait_ready()
        self.real = [node.addr for node in nodes]


@pytest.fixture(scope="module")
def servers(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with ExitStack() as stack:
        yield Servers(tmp_path_factory.mktemp("servers"), stack)


def test_python_client_learns_the_same_reasons(servers: Servers) -> None:
    def why(addr: str, **options: Any) -> str:
        with Client(addr, **options) as client:
            try:
                client.cluster_info()
            except RemotingError as error:
                return str(error).replace(addr, "ADDR")
        return ""

    def seen(addrs: list[str]) -> dict[str, str]:
        options = {"tls": True, "tls_ca_file": servers.ca}
        by_tls = {kind: why(addr, **options) for kind, addr in zip(KINDS, addrs, strict=True)}
        any_host = why(addrs[1], **options, tls_check_host=False)
        return by_tls | {"any host": any_host, "plain": why(addrs[0])}

    found = seen(servers.fake)
    assert found == seen(servers.real)
    assert found["right"] == found["any host"] == ""
    assert all(found[name] for name in ("wrong host", "expired", "unknown authority", "disabled"))
    assert found["plain"]


@pytest.mark.parametrize("version", CLIENT_VERSIONS)
def test_java_client_fails_at_the_same_servers(servers: Servers, version: str) -> None:
    jvm = (
        *SMALL_JVM,
        "-Dtls.enable=true",
        "-Dtls.client.authServer=true",
        f"-Dtls.client.trustCertPath={servers.ca}",
        "-Dtls.test.mode.enable=false",
    )
    on_real = JavaProgram(";".join(servers.real), version, jvm=jvm)
    on_fake = JavaProgram(";".join(servers.fake), version, jvm=jvm)
    with together(on_real, on_fake):
        assert_same(
            lambda: on_real.observe(SECURED_SCENARIO),
            lambda: on_fake.observe(SECURED_SCENARIO),
            lambda: on_real.observe_again(SECURED_SCENARIO),
            lambda: on_fake.observe_again(SECURED_SCENARIO),
        )
        found = on_fake.observe(SECURED_SCENARIO)
    answered = [line.partition(":")[0] for line in found if line.endswith(" answered")]
    assert answered == ["0 by TLS", "1 by TLS", "4 without TLS"]  # Java checks no names of hosts
