"""RocketMQ 5.5.0's own integration tests of its gRPC front, pointed at the fake.

They are those of ``ClusterGrpcIT`` in the test-jar of rocketmq-test, unchanged. Its base class
starts brokers in its own JVM; java_apache has another one in its place, for a cluster outside. A
server of the tests lets messages be hidden for 3 s and polls be short, which a proxy refuses by
default: here they are hidden for 10 s, and polled for 5 s.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from conformance.drivers.builds import CACHE, BuildError, run_tool, up_to_date
from conformance.drivers.java_program import SMALL_JVM
from conformance.live.groups import CROWDED
from conformance.targets.java_jars import MAVEN_ENVIRONMENT
from conformance.targets.processes import FakemqProcess

# Slow: a JVM, and what comes again after seconds.
pytestmark = [pytest.mark.slow, CROWDED]

SOURCES = Path(__file__).parents[1] / "java_apache"
HOME = CACHE / "java" / "apache"
CONFIG = ("recallMessageEnable=true", "transactionCheckInterval=1000")
"""That of the tests' own brokers."""
RUN_TIMEOUT_S = 300.0


def test_tests_of_rocketmq_pass_on_the_fake(java: None, tmp_path: Path) -> None:
    up_to_date(HOME, sorted(path for path in SOURCES.rglob("*") if path.is_file()), build)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "rmq-proxy.json").write_text("{}")
    ports = ("--grpc-port", "0", "--namesrv-port", "0", "--broker-port", "0")
    with FakemqProcess(*ports, "--masters", "3", config=CONFIG) as fake:
        properties = {
            "user.home": tmp_path,
            "java.io.tmpdir": tmp_path,
            "conformance.namesrv": fake.namesrv_addr,
            "conformance.port": fake.grpc_addr.rpartition(":")[2],
            "rocketmq.namesrv.addr": fake.namesrv_addr,  # of a client that the tests make
        }
        done = subprocess.run(
            [
                *("java", *SMALL_JVM, "-Xmx512m", "--add-opens=java.base/java.nio=ALL-UNNAMED"),
                *(f"-D{key}={value}" for key, value in properties.items()),
                *("-cp", f"{HOME / 'classes'}:{HOME / 'lib'}/*", "conformance.GrpcOutside"),
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=os.environ | {"RMQ_PROXY_HOME": str(tmp_path)},
            timeout=RUN_TIMEOUT_S,
        )
    assert "OK (11 tests)" in done.stdout, done.stdout[-6_000:]


def build() -> None:
    """Resolve what the tests need, and compile what stands in place of their base class."""
    repository = os.environ.get("FAKEMQ_M2") or str(CACHE / "m2")
    command = [
        *("mvn", "--batch-mode", "--quiet", "--file", str(SOURCES / "pom.xml")),
        *(f"-Dmaven.repo.local={repository}", f"-DoutputDirectory={HOME / 'lib'}"),
        "dependency:copy-dependencies",
    ]
    output = run_tool([*command, "--offline"], HOME, MAVEN_ENVIRONMENT)
    if output is not None:  # the network only when something is not cached yet
        output = run_tool(command, HOME, MAVEN_ENVIRONMENT)
    if output is None:
        paths = map(str, sorted(SOURCES.rglob("*.java")))
        words = ("javac", "-nowarn", "-d", str(HOME / "classes"), "-cp", f"{HOME / 'lib'}/*")
        output = run_tool([*words, *paths], HOME, {})
    if output is not None:
        raise BuildError(f"the tests of RocketMQ cannot be built:\n{output[-4000:]}")
