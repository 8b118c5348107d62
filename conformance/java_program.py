"""Runs our Java client program: scenarios that print observations, and drivers that tests steer.

``observe(namesrv_addr, "sync")`` returns what the client saw, in lines that are the same on every
correct cluster. ``JavaProducer`` and ``JavaConsumer`` are long-lived clients in their own JVM.
"""

from __future__ import annotations

import secrets
import tempfile
from pathlib import Path

from conformance.drivers import Consuming, Driver, Producing, run_scenario
from conformance.java_jars import REFERENCE, class_path

SCENARIOS = (
    "sync",
    "errors",
    "async",
    "oneway",
    "batch",
    "autotopic",
    "push",
    "orderly",
    "rebalance",
    "dying",
    "broadcast",
    "pull",
    "offsets",
    "block",
)
SCENARIO_TIMEOUT_S = 90.0


class JavaProgramError(Exception):
    """The Java program failed or took too long; the message carries what it printed."""


def java_command(home: Path, version: str, *, binary: bool = False) -> list[str]:
    """The java command line up to the program's arguments; all it writes goes below ``home``."""
    logs = home / "logs"
    properties = {
        "user.home": home,
        "java.io.tmpdir": home,
        "rocketmq.client.localOffsetStoreDir": home / "offsets",
        # 4.9.7 reads the first pair, 5.5.0 the second.
        "rocketmq.client.logRoot": logs,
        "rocketmq.client.logLevel": "WARN",
        "rocketmq.log.root": logs,
        "rocketmq.log.level": "WARN",
    }
    if binary:
        properties["rocketmq.serialize.type"] = "ROCKETMQ"
    return [
        *("java", "-Xms32m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
        *("-XX:-UsePerfData", "--add-opens=java.base/java.nio=ALL-UNNAMED"),
        *(f"-D{key}={value}" for key, value in properties.items()),
    ]


def observe(
    namesrv_addr: str, scenario: str, version: str = REFERENCE, *, binary: bool = False
) -> list[str]:
    """Runs a scenario with fresh topic and group names; returns its observations in order.

    ``binary`` makes the client send RocketMQ's own header serialisation. Raises JavaProgramError
    with everything printed when the program fails or takes over 90 s.
    """
    with tempfile.TemporaryDirectory(prefix="java-program-") as home:
        command = [
            *java_command(Path(home), version, binary=binary),
            # One length always: the suffix is part of stored sizes.
            f"-Dconformance.suffix=_{secrets.token_hex(4)}",
            *("-cp", class_path(version), "conformance.Program", namesrv_addr, scenario),
        ]
        end = run_scenario(command, Path(home), SCENARIO_TIMEOUT_S)
        if end.status != 0:
            log = "\n".join([end.printed, end.complaints, *client_log(Path(home))])
            raise JavaProgramError(
                f"{scenario} with RocketMQ {version} ended with {end.status}\n{log}"
            )
    return end.observations


def client_log(home: Path) -> list[str]:
    """The WARN and ERROR entries of RocketMQ's client log below ``home``, with stack traces."""
    kept: list[str] = []
    bad = False
    for path in sorted((home / "logs").rglob("*.log")):
        for line in path.read_text(errors="replace").splitlines():
            if line[:4].isdigit():  # an entry; what follows without a date belongs to it
                bad = _is_bad(line)
            if bad:
                kept.append(line)
    return kept


def _is_bad(line: str) -> bool:
    # Both versions write "date time LEVEL ..." or "date time [thread] LEVEL ..." early in the line.
    return any(level in line[:80].split() for level in ("WARN", "ERROR"))


class JavaDriver(Driver):
    """A Java client in its own JVM that speaks in lines."""

    def __init__(self, version: str, *arguments: str, binary: bool = False) -> None:
        super().__init__(
            lambda home: [
                *java_command(home, version, binary=binary),
                *("-cp", class_path(version), "conformance.Program", *arguments),
            ]
        )

    def client_log(self) -> list[str]:
        printed = [line for line in self._printed if _is_bad(line)]
        return printed + client_log(self.home)


class JavaProducer(JavaDriver, Producing):
    """A DefaultMQProducer."""

    def __init__(
        self,
        namesrv_addr: str,
        topic: str,
        group: str = "GProducer",
        per_second: int = 200,
        version: str = REFERENCE,
        *,
        binary: bool = False,
    ) -> None:
        super().__init__(
            version, namesrv_addr, "produce", topic, group, str(per_second), binary=binary
        )


class JavaConsumer(JavaDriver, Consuming):
    """A DefaultMQPushConsumer."""

    def __init__(
        self,
        namesrv_addr: str,
        topic: str,
        group: str = "GConsumer",
        expression: str = "*",
        instance: str = "c1",
        version: str = REFERENCE,
        *,
        orderly: bool = False,
        binary: bool = False,
    ) -> None:
        super().__init__(
            version,
            *(namesrv_addr, "consume", topic, group, expression, instance),
            *(["orderly"] if orderly else []),
            binary=binary,
        )
