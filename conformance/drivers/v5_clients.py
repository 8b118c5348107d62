"""``python -m conformance.drivers.v5_clients``: clients of 5.x on brokers of 5.5.0.

Each scenario of `WAYS_SCENARIOS` is one Java program that pops, or pulls; `GRPC_SCENARIOS` are
those of Java's gRPC client behind a real proxy, `GRPC_PYTHON_SCENARIOS` those of the Python one.
What they observe on a real cluster is kept (``--record``), and the fake must show the same, but for
those that waiting.toml lists.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple, TypeAlias

from conformance.compare import waiting
from conformance.drivers.beside import record, recorded, report, without_ids
from conformance.drivers.drivers import DriverError
from conformance.drivers.grpc_python_program import SCENARIOS as GRPC_PYTHON_SCENARIOS
from conformance.drivers.grpc_python_program import GrpcPythonProgram
from conformance.drivers.java_program import (
    GRPC_SCENARIOS,
    SMALL_JVM,
    WAYS_SCENARIOS,
    JavaProgram,
)
from conformance.targets.java_cluster import JavaCluster
from conformance.targets.java_jars import NEWEST
from conformance.targets.java_proxy import TLS_JVM, java_proxy
from conformance.targets.processes import FakemqProcess
from conformance.targets.quick_pair import TWO_MASTERS

RECORDED = f"{NEWEST}-clients"
"""Names the file of observations; that of `beside` has what Java's client of 4.9.7 saw."""
EVERY_SCENARIO = (*WAYS_SCENARIOS, *GRPC_SCENARIOS, *GRPC_PYTHON_SCENARIOS)
CONFIG = {
    "messageDelayLevel": " ".join(["1s", "2s", *["1s"] * 16]),
    "transactionCheckInterval": "3000",
    "transactionTimeOut": "1000",
    "transactionOpBatchInterval": "10",
    "enablePropertyFilter": "true",
    "recallMessageEnable": "true",
    "enableLmq": "true",
    "enableMultiDispatch": "true",
}
"""Broker properties with which nothing takes long and nothing is switched off."""


class Where(NamedTuple):
    """Where clients reach a cluster."""

    namesrv_addr: str
    grpc_addr: str
    """Of its own front; empty if it has none."""


@contextmanager
def brokers(*, fake: bool) -> Iterator[Where]:
    """Two masters, real or fake; the fake has a gRPC front of its own."""
    if fake:
        lines = [f"{key}={value}" for key, value in CONFIG.items()]
        words = (*TWO_MASTERS, "--reference", NEWEST, "--grpc-port", "0")
        with FakemqProcess(*words, config=lines) as process:
            yield Where(process.namesrv_addr, process.grpc_addr)
    else:
        with JavaCluster(masters=2, config=CONFIG, version=NEWEST) as real:
            yield Where(real.namesrv_addr, "")


Program: TypeAlias = JavaProgram | GrpcPythonProgram


@contextmanager
def programs(where: Where, chosen: Collection[str]) -> Iterator[dict[str, Program]]:
    """Run scenarios, all that are of one program beside each other; yield each one's program.

    Their gRPC clients are behind a real proxy, or at the front of the cluster if ``where`` has one.
    """
    namesrv_addr = where.namesrv_addr
    found: dict[str, Program] = {}

    def begin(program: Program, scenarios: Iterable[str]) -> None:
        stack.enter_context(program)
        for scenario in scenarios:
            if scenario in chosen:
                program.begin(scenario)
                found[scenario] = program

    with ExitStack() as stack:
        if not set(chosen).isdisjoint(WAYS_SCENARIOS):
            begin(JavaProgram(namesrv_addr, NEWEST), WAYS_SCENARIOS)
        # A proxy starts slowly: what needs none runs meanwhile.
        if not set(chosen).isdisjoint((*GRPC_SCENARIOS, *GRPC_PYTHON_SCENARIOS)):
            proxy_addr = where.grpc_addr
            if not proxy_addr:
                proxy_addr = stack.enter_context(java_proxy(namesrv_addr, jvm=TLS_JVM)).addr
            if not set(chosen).isdisjoint(GRPC_SCENARIOS):
                jvm = (*SMALL_JVM, f"-Dconformance.proxy={proxy_addr}")
                begin(JavaProgram(namesrv_addr, NEWEST, jvm=jvm, extra="grpc"), GRPC_SCENARIOS)
            if not set(chosen).isdisjoint(GRPC_PYTHON_SCENARIOS):
                begin(GrpcPythonProgram(namesrv_addr, proxy_addr), GRPC_PYTHON_SCENARIOS)
        yield found


def observe_all(
    chosen: Sequence[str], found: Mapping[str, Program]
) -> Iterator[tuple[str, list[str] | str]]:
    """Yield what each scenario observed, or how it failed."""
    for scenario in chosen:
        try:
            yield scenario, found[scenario].observe(scenario)
        except DriverError as error:
            yield scenario, str(error)[:4_000]


def main(arguments: list[str] | None = None) -> int:
    """Run the scenarios; the exit code is the number that differ from what is recorded."""
    parser = argparse.ArgumentParser(prog="python -m conformance.drivers.v5_clients")
    parser.add_argument(
        "--record", action="store_true", help="keep what they see on a real cluster"
    )
    parser.add_argument("--fake", action="store_true", help="run them on the fake")
    parser.add_argument("names", nargs="*", help="scenarios; all if none is named")
    options = parser.parse_args(arguments)
    if options.record and options.fake:
        parser.error("--record keeps what is seen on a real cluster")
    chosen = [one for one in EVERY_SCENARIO if not options.names or one in options.names]
    differ = 0
    with brokers(fake=options.fake) as where:
        # One program after the other: a real cluster leaves little of a machine to them.
        for some in (WAYS_SCENARIOS, GRPC_SCENARIOS, GRPC_PYTHON_SCENARIOS):
            names = [one for one in chosen if one in some]
            with programs(where, names) as found:
                for scenario, seen in observe_all(names, found):
                    differ += _tell(scenario, seen, record_it=options.record)
    return differ


def _tell(scenario: str, seen: list[str] | str, *, record_it: bool) -> bool:
    """Print how a scenario went, or record it; return whether something is wrong."""
    if isinstance(seen, str):
        print(f"failed    {scenario}: {seen}", flush=True)
        return True
    if record_it:
        record(RECORDED, {scenario: seen})
        print(f"recorded  {scenario}", *seen, sep="\n  ", flush=True)
        return False
    neutrals = list(map(without_ids, seen))
    text = report(scenario, recorded(RECORDED).get(scenario, []), neutrals, "brokers of 5.5.0")
    reason = waiting(RECORDED).get(scenario)
    print(text or f"same      {scenario}", f"(waiting: {reason})" if reason else "", flush=True)
    return bool(text)


if __name__ == "__main__":
    sys.exit(main())
