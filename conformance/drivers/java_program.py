"""Runs our Java client program: scenarios that tell observations, and drivers that tests steer.

``JavaProgram(namesrv_addr).observe("sync")`` returns what the client saw, in lines that are the
same on every correct cluster. ``JavaProducer`` and ``JavaConsumer`` are long-lived clients in
their own JVM.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import count
from pathlib import Path

from conformance.drivers.drivers import Consuming, Driver, Observing, Producing
from conformance.targets.java_jars import REFERENCE, Extra, archive_flags, class_path

SCENARIOS = (
    # Those that wait longest come first: for leases of 60 s, for a client that pauses for 10.
    "orderlydying",
    "reset",
    "transaction",
    "trace",
    "timestamp",
    "sync",
    "errors",
    "async",
    "oneway",
    "batch",
    "autotopic",
    "selected",
    "compressed",
    "properties",
    "collisions",
    "options",
    "delay",
    "takeover",
    "request",
    "push",
    "orderly",
    "rebalance",
    "dying",
    "broadcast",
    "suspended",
    "growing",
    "deleted",
    "inspected",
    "sql",
    "sqlpush",
    "resubscribe",
    "retry",
    "retrylevels",
    "retryrest",
    "sendback",
    "orderlyretry",
    "pull",
    "offsets",
    "block",
    "query",
)
LITE_SCENARIOS = ("litesubscribe", "liteassign")
"""The 5.x client sends code 361 in them, which 4.9.7 brokers do not know."""
WAYS_SCENARIOS = (
    "popshares",
    # Calls that no consumer makes.
    *("popbatchack", "poporderbatchack", "popnotification", "popordernotification"),
    *(
        f"{way}{what}"
        for what in (
            # Those that wait longest come first.
            *("retry", "rest", "dying", "recall", "timers"),
            *("plain", "order", "filters", "members"),
        )
        for way in ("pop", "classic")
    ),
)
"""One program, popping and pulling; its clients and brokers are of 5.x."""
GRPC_SCENARIOS = (
    "grpcretry",
    "grpctransaction",
    "grpcfifopush",
    "grpcdelay",
    "grpcfilters",
    "grpcfifo",
    "grpcchange",
    "grpcplain",
    "grpctls",
    "grpcunknown",
    "grpclite",
    "grpclitemoved",
)
"""Those of RocketMQ 5's own clients, behind a proxy."""
ACCESS_SCENARIO = "access"
"""The scenario of clients with keys, at brokers of `conformance.targets.accounts`."""
SECURED_SCENARIO = "secured"
"""The scenario of name servers that are given as a list, and are no cluster."""
AT_ONCE = 6
"""Scenarios of one JVM that run at a time: most of what they do is wait."""
SMALL_JVM = ("-Xms32m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def java_command(
    home: Path,
    version: str,
    *,
    binary: bool = False,
    jvm: Sequence[str] = SMALL_JVM,
    domain: str | None = None,
) -> list[str]:
    """The java command line up to the program's arguments; all it writes goes below ``home``.

    ``domain`` is the address server of clients that have no name server address.
    """
    logs = home / "logs"
    properties: dict[str, object] = {
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
    if domain is not None:
        properties["rocketmq.namesrv.domain"] = domain
    return [
        *("java", *jvm, "-XX:-UsePerfData", "--add-opens=java.base/java.nio=ALL-UNNAMED"),
        *(f"-D{key}={value}" for key, value in properties.items()),
    ]


def observe(
    namesrv_addr: str,
    scenario: str,
    version: str = REFERENCE,
    *,
    binary: bool = False,
    jvm: Sequence[str] = SMALL_JVM,
    extra: Extra = "",
) -> list[str]:
    """Run one scenario in a JVM of its own; see ``JavaProgram.observe``."""
    with JavaProgram(namesrv_addr, version, binary=binary, jvm=jvm, extra=extra) as program:
        return program.observe(scenario)


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

    def __init__(
        self,
        version: str,
        *arguments: str,
        binary: bool = False,
        jvm: Sequence[str] = SMALL_JVM,
        domain: str | None = None,
        extra: Extra = "",
    ) -> None:
        super().__init__(
            lambda home: [
                *java_command(home, version, binary=binary, jvm=jvm, domain=domain),
                *([] if extra else archive_flags(version)),
                *("-cp", class_path(version, extra), "conformance.Program", *arguments),
            ]
        )

    def client_log(self) -> list[str]:
        printed = [line for line in self._printed if _is_bad(line)]
        return printed + client_log(self.home)


class JavaProgram(JavaDriver, Observing):
    """A JVM that runs scenarios, up to ``AT_ONCE`` of those begun at a time.

    ``binary`` makes its clients send RocketMQ's own header serialisation. ``domain`` is the address
    server of clients that have no name server address.
    """

    def __init__(
        self,
        namesrv_addr: str,
        version: str = REFERENCE,
        *,
        binary: bool = False,
        jvm: Sequence[str] = SMALL_JVM,
        domain: str | None = None,
        extra: Extra = "",
    ) -> None:
        self._again = partial(
            observe, namesrv_addr, version=version, binary=binary, jvm=jvm, extra=extra
        )
        arguments = (namesrv_addr, "scenarios", str(AT_ONCE))
        super().__init__(version, *arguments, binary=binary, jvm=jvm, domain=domain, extra=extra)

    def observe_again(self, scenario: str) -> list[str]:
        """Return what the clients of a scenario see in a JVM of their own."""
        return self._again(scenario)


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
        jvm: Sequence[str] = SMALL_JVM,
    ) -> None:
        arguments = (namesrv_addr, "produce", topic, group, str(per_second))
        super().__init__(version, *arguments, binary=binary, jvm=jvm)


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
        jvm: Sequence[str] = SMALL_JVM,
    ) -> None:
        super().__init__(
            version,
            *(namesrv_addr, "consume", topic, group, expression, instance),
            *(["orderly"] if orderly else []),
            binary=binary,
            jvm=jvm,
        )


class JavaClients(JavaDriver):
    """Clients of every kind in one JVM, made and used by commands; see ``Faulty.java``.

    Consumers share out queues at their start and when a test asks for it, never by themselves, and
    take their locks again every 300 ms.
    """

    def __init__(self, version: str = REFERENCE) -> None:
        self.received: list[tuple[str, str]] = []
        """Consumer and message, in the order in which listeners were given them."""
        self.checked: list[str] = []
        """The messages about which a transactional producer was asked."""
        self._results: dict[str, str] = {}
        self._tags = count(1)
        shares = "-Drocketmq.client.rebalance.waitInterval=600000"
        locks = "-Drocketmq.client.rebalance.lockInterval=300"
        super().__init__(version, "-", "faulty", jvm=(*SMALL_JVM, shares, locks))

    def begin(self, *words: object) -> str:
        """Begin a command; return its tag, for `result`."""
        tag = f"#{next(self._tags)}"
        self.say(" ".join(map(str, [tag, *words])))
        return tag

    def ended(self, tag: str) -> bool:
        """Return whether a command has come to its end."""
        return tag in self._results

    def result(self, tag: str) -> str:
        """Wait for the end of a command; one that failed returns ``!EXCEPTION CODE_OR_TEXT``."""
        self.wait_for(lambda: self.ended(tag), f"the end of {tag}")
        return self._results[tag]

    def do(self, *words: object) -> str:
        """Begin a command and wait for its end."""
        return self.result(self.begin(*words))

    def wait_received(self, name: str, id: str, times: int = 1) -> None:
        """Wait until a listener was given a message so often, or more often."""
        self.wait_for(
            lambda: self.received.count((name, id)) >= times, f"{id} {times} times at {name}"
        )

    def on_line(self, line: str) -> None:
        kind, _, rest = line.partition(" ")
        if kind == "received":
            name, _, id = rest.partition(" ")
            self.received.append((name, id))
        elif kind == "checked":
            self.checked.append(rest)
        elif kind.startswith("#"):
            self._results[kind] = rest
