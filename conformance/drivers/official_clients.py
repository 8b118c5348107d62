"""``python -m conformance.drivers.official_clients``: RocketMQ 5's clients in Go, Node and Rust.

One program for each: conformance/grpc_go, grpc_node and grpc_rust. Their scenarios have the same
names. What they observe on a real cluster with its proxy is kept (``--record``), and the fake must
show the same; v5_clients has the clients in Java and Python.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from difflib import unified_diff
from pathlib import Path
from threading import Timer
from typing import NamedTuple

from conformance.drivers.beside import record, recorded
from conformance.drivers.builds import CACHE, BuildError, build_go, run_tool, up_to_date
from conformance.drivers.go_program import missing_go
from conformance.drivers.v5_clients import Where, brokers
from conformance.targets.java_cluster import wait_until
from conformance.targets.java_jars import NEWEST
from conformance.targets.java_proxy import TLS_JVM, java_proxy
from conformance.targets.processes import routed
from conformance.wire.raw import create_topic
from fakemq.client import Client as Remoting
from fakemq.client import MessageQueue, Producer
from fakemq.protocol.bodies.group import (
    CustomizedRetryPolicy,
    ExponentialRetryPolicy,
    GroupRetryPolicy,
    SubscriptionGroupConfig,
)

ATTEMPTS = 3
RUN_TIMEOUT_S = 150.0
TLS = "tls"
"""The scenario that the client runs with TLS."""
_FOLDER = Path(__file__).parents[1]
LITE = "lite"
"""The scenario whose group consumes lite topics."""
_TYPES = {
    "fifo": "FIFO",
    "fifopush": "FIFO",
    "delay": "DELAY",
    "transaction": "TRANSACTION",
    LITE: "LITE",
}
"""Types of the topics of scenarios, where they are not NORMAL."""
CLIENT_ID = re.compile(r"[\w.-]+@[0-9]+@[0-9]+@\w+")
_WAIT = GroupRetryPolicy(customized_retry_policy=CustomizedRetryPolicy(next=[1_000]))


class OfficialClient(NamedTuple):
    """One client: its program, and what of it can be run here."""

    name: str
    version: str
    scenarios: tuple[str, ...]
    missing: Callable[[], str | None]
    """Say in one line why it cannot run here; None when it can."""
    command: Callable[..., Sequence[str]]
    """Build what is missing; return the words that start the program, or another one that is named.

    Raises BuildError.
    """
    policy: GroupRetryPolicy = _WAIT
    """That of its groups: a second between two attempts."""

    @property
    def recording(self) -> str:
        """Name the file of what it observes."""
        return f"{NEWEST}-{self.name}"


class Observed(NamedTuple):
    """What a scenario of a client observed."""

    lines: list[str]
    failure: str
    """Why it did not come to its end; empty if it did."""
    took_s: float


def _missing(tool: str, whose: str) -> Callable[[], str | None]:
    def missing() -> str | None:
        if shutil.which(tool) is not None:
            return None
        return f"{tool} not on PATH: the tests with the {whose} client need it"

    return missing


def _go(program: str = "grpc_go") -> Sequence[str]:
    return [str(build_go(_FOLDER / "grpc_go", CACHE / "grpc_go", program))]


def _node(program: str = "main.cjs") -> Sequence[str]:
    sources, home = _FOLDER / "grpc_node", CACHE / "grpc_node"

    def install() -> None:
        for path in sources.iterdir():
            shutil.copy(path, home)
        tool = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
        output = run_tool([*tool, "--cache", str(home / "npm")], home, {})
        if output is not None:
            raise BuildError(f"npm failed:\n{output[-4000:]}")

    up_to_date(home, sorted(sources.iterdir()), install)
    return ["node", str(home / program)]


def _rust(program: str = "grpc_rust") -> Sequence[str]:
    sources, home = _FOLDER / "grpc_rust", CACHE / "grpc_rust"

    def build() -> None:
        output: str | None = ""
        for where in (["--offline"], []):  # the network only for what is not cached yet
            command = ["cargo", "build", "--locked", "--quiet", *where]
            output = run_tool(command, sources, {"CARGO_TARGET_DIR": str(home / "target")})
            if output is None:
                return
        raise BuildError(f"cargo build failed:\n{(output or '')[-4000:]}")

    manifests = (sources / "Cargo.toml", sources / "Cargo.lock")
    up_to_date(home, (*manifests, *sorted(sources.rglob("*.rs"))), build)
    return [str(home / "target" / "debug" / program)]


GO = OfficialClient(
    "go",
    "golang/v5 5.1.4",
    (
        *("transaction", "retry", "fifopush", "delay", "change"),
        *("filters", "fifo", "plain", TLS, "refused", LITE),
    ),
    missing_go,
    _go,
)
NODE = OfficialClient(
    "node",
    "rocketmq-client-nodejs 1.0.8",
    (
        *("transaction", "retry", "fifopush", "delay", "change"),
        *("filters", "fifo", "plain", "refused", LITE),
    ),
    _missing("npm", "Node"),
    _node,
    # It understands no other one.
    GroupRetryPolicy(
        type="EXPONENTIAL",
        exponential_retry_policy=ExponentialRetryPolicy(initial=1_000, max=1_000, multiplier=1),
    ),
)
RUST = OfficialClient(
    "rust",
    "rocketmq 5.0.0",
    ("transaction", "delay", "filters", "fifo", "plain", "refused"),
    _missing("cargo", "Rust"),
    _rust,
)
CLIENTS = (GO, NODE, RUST)


@contextmanager
def front(*, fake: bool) -> Iterator[Where]:
    """Two masters, real ones with a proxy or fake ones, that take TLS on the port of gRPC, too."""
    with brokers(fake=fake) as where, ExitStack() as stack:
        if not fake:
            proxy = stack.enter_context(java_proxy(where.namesrv_addr, jvm=TLS_JVM))
            where = Where(where.namesrv_addr, proxy.addr)
        yield where


def observe(
    client: OfficialClient,
    where: Where,
    scenarios: Sequence[str],
    hear: Callable[[str], None] | None = None,
    **variables: str,
) -> dict[str, Observed]:
    """Run scenarios of a client side by side. Raises BuildError.

    ``hear`` takes each line as it is observed; ``variables`` are added to the environment.
    """
    command = client.command()
    suffix = secrets.token_hex(4)
    _prepare(client, where, scenarios, suffix)
    # One process does everything with TLS, or nothing.
    kinds = [[one for one in scenarios if (one == TLS) is with_tls] for with_tls in (False, True)]
    found: dict[str, Observed] = {}
    for some in kinds:
        if some:
            found |= _run(command, where, suffix, some, hear, variables)
    return found


def _run(
    command: Sequence[str],
    where: Where,
    suffix: str,
    scenarios: Sequence[str],
    hear: Callable[[str], None] | None,
    variables: Mapping[str, str],
) -> dict[str, Observed]:
    lines: dict[str, list[str]] = {name: [] for name in scenarios}
    found: dict[str, Observed] = {}
    with tempfile.TemporaryDirectory(prefix="official-client-") as home:
        # Clients log below HOME, or to stdout among the lines.
        environment = os.environ | variables | {"HOME": home}
        if scenarios == [TLS]:
            environment["CONFORMANCE_TLS"] = "1"
        began_s = time.monotonic()
        complaints = Path(home) / "stderr.txt"
        with (
            open(complaints, "w") as stderr,
            subprocess.Popen(
                [*command, where.grpc_addr, suffix, *scenarios],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                cwd=home,
                env=environment,
            ) as process,
        ):
            reaper = Timer(RUN_TIMEOUT_S, process.kill)
            reaper.start()
            assert process.stdout is not None
            for line in process.stdout:
                name, tab, text = line.rstrip("\n").partition("\t")
                if not tab or name not in lines:
                    continue
                if text.startswith("!"):
                    failure = ""
                    if text != "!end":
                        failure = f"{text}\n{complaints.read_text()[-4_000:]}"
                    took_s = time.monotonic() - began_s
                    found[name] = Observed(lines[name], failure, took_s)
                else:
                    lines[name].append(CLIENT_ID.sub("CLIENT", text.replace(f"_{suffix}", "")))
                    if hear is not None:
                        hear(lines[name][-1])
            reaper.cancel()
        missing = f"no end within {RUN_TIMEOUT_S} s\n{complaints.read_text()[-4_000:]}"
    never = {name: Observed(lines[name], missing, RUN_TIMEOUT_S) for name in scenarios}
    return never | found


def _prepare(client: OfficialClient, where: Where, scenarios: Sequence[str], suffix: str) -> None:
    """Create topics and groups: gRPC has no request for that."""
    with Remoting(where.namesrv_addr) as remoting:
        table = remoting.cluster_info().broker_addr_table
        masters = {name: broker.broker_addrs[0] for name, broker in table.items()}
        for scenario in scenarios:
            name = f"{scenario}_{suffix}"
            for addr in masters.values():
                kind = f"+message.type={_TYPES.get(scenario, 'NORMAL')}"
                create_topic(addr, name, 1, attributes=kind)
            remoting.create_group(
                SubscriptionGroupConfig(
                    group_name=name,
                    retry_max_times=ATTEMPTS - 1,
                    consume_message_orderly=scenario.startswith("fifo"),
                    group_retry_policy=client.policy,
                    attributes={"+lite.bind.topic": name} if scenario == LITE else {},
                )
            )
        for scenario in scenarios:
            _until_routed(where, f"{scenario}_{suffix}", masters)
    if "transaction" in scenarios:
        # Brokers take a prepared message at the beginning of a log for one that is not prepared.
        create = f"filled_{suffix}"
        for addr in masters.values():
            create_topic(addr, create, 1)
        _until_routed(where, create, masters)
        with Producer(where.namesrv_addr, group="GFilled") as producer:
            for broker in masters:
                producer.send(create, b"first", queue=MessageQueue(create, broker, 0))


def _until_routed(where: Where, topic: str, masters: Collection[str]) -> None:
    wait_until(lambda: routed(where.namesrv_addr, topic) == set(masters), 30)


def difference(client: OfficialClient, scenario: str, seen: Observed) -> str:
    """Return how a scenario differs from what is recorded; "" if it does not."""
    if seen.failure:
        return f"{client.name} {scenario} failed: {seen.failure}\n" + "\n".join(seen.lines)
    wanted = recorded(client.recording).get(scenario, [])
    names = f"{client.name} {scenario} as recorded", f"{client.name} {scenario} now"
    return "\n".join(unified_diff(wanted, seen.lines, *names, n=2, lineterm=""))


def main(arguments: list[str] | None = None) -> int:
    """Run the scenarios; the exit code is the number that differ from what is recorded."""
    parser = argparse.ArgumentParser(prog="python -m conformance.drivers.official_clients")
    parser.add_argument(
        "--record", action="store_true", help="keep what they see on a real cluster"
    )
    parser.add_argument("--fake", action="store_true", help="run them on the fake")
    parser.add_argument("--build", action="store_true", help="build what can be built, no more")
    parser.add_argument("--only", nargs="*", default=[], help="scenarios; all if none is named")
    parser.add_argument("clients", nargs="*", help="go, node, rust; all if none is named")
    options = parser.parse_args(arguments)
    if options.record and options.fake:
        parser.error("--record keeps what is seen on a real cluster")
    chosen = [one for one in CLIENTS if not options.clients or one.name in options.clients]
    for client in chosen:
        if client.missing() is None or not options.build:
            client.command()
    if options.build:
        return 0
    wrong = 0
    with front(fake=options.fake) as where:
        for client in chosen:
            names = [one for one in client.scenarios if not options.only or one in options.only]
            for scenario, seen in observe(client, where, names).items():
                wrong += _tell(client, scenario, seen, record_it=options.record)
    return wrong


def _tell(client: OfficialClient, scenario: str, seen: Observed, *, record_it: bool) -> bool:
    """Print how a scenario went, or record it; return whether something is wrong."""
    took = f"({seen.took_s:.1f} s)"
    if record_it and not seen.failure:
        record(client.recording, {scenario: seen.lines})
        print(f"recorded  {client.name} {scenario} {took}", *seen.lines, sep="\n  ", flush=True)
        return False
    text = difference(client, scenario, seen)
    print(text or f"same      {client.name} {scenario}", took, flush=True)
    return bool(text)


if __name__ == "__main__":
    sys.exit(main())
