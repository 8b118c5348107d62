"""``python -m conformance.drivers.later_clients``: Java's clients of 5.x on brokers of 5.5.0.

Each scenario of `WAYS_SCENARIOS` is one program that pops, or pulls; `GRPC_SCENARIOS` are those of
the gRPC client behind a real proxy. What they observe on a real cluster is kept (``--record``), and
the fake must show the same, but for those that waiting.toml lists.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from conformance.compare import waiting
from conformance.drivers.beside import record, recorded, report
from conformance.drivers.drivers import DriverError
from conformance.drivers.java_program import (
    GRPC_SCENARIOS,
    SMALL_JVM,
    WAYS_SCENARIOS,
    JavaProgram,
)
from conformance.targets.java_cluster import JavaCluster
from conformance.targets.java_jars import NEWEST
from conformance.targets.java_proxy import JavaProxy
from conformance.targets.processes import FakemqProcess
from conformance.targets.quick_pair import TWO_MASTERS

RECORDED = f"{NEWEST}-clients"
"""Names the file of observations; that of `beside` has what Java's client of 4.9.7 saw."""
EVERY_SCENARIO = (*WAYS_SCENARIOS, *GRPC_SCENARIOS)
CONFIG = {
    "messageDelayLevel": " ".join(["1s", "2s", *["1s"] * 16]),
    "transactionCheckInterval": "3000",
    "transactionTimeOut": "1000",
    "transactionOpBatchInterval": "10",
    "enablePropertyFilter": "true",
    "recallMessageEnable": "true",
}
"""Broker properties with which nothing takes long and nothing is switched off."""


@contextmanager
def brokers(*, fake: bool) -> Iterator[str]:
    """Two masters, real or fake; yield the address of their name server."""
    if fake:
        lines = [f"{key}={value}" for key, value in CONFIG.items()]
        with FakemqProcess(*TWO_MASTERS, "--reference", NEWEST, config=lines) as process:
            yield process.namesrv_addr
    else:
        with JavaCluster(masters=2, config=CONFIG, version=NEWEST) as real:
            yield real.namesrv_addr


@contextmanager
def program(namesrv_addr: str) -> Iterator[JavaProgram]:
    """The program with Java's remoting client of 5.5.0."""
    with JavaProgram(namesrv_addr, NEWEST) as found:
        yield found


@contextmanager
def grpc_program(namesrv_addr: str) -> Iterator[JavaProgram]:
    """The program with the gRPC client, behind a real proxy."""
    with tempfile.TemporaryDirectory(prefix="rocketmq-proxy-") as home:
        proxy = JavaProxy(Path(home), namesrv_addr)
        try:
            proxy.start()
            jvm = (*SMALL_JVM, f"-Dconformance.proxy={proxy.addr}")
            with JavaProgram(namesrv_addr, NEWEST, jvm=jvm, extra="grpc") as found:
                yield found
        finally:
            proxy.kill()


def observe_all(chosen: Sequence[str], found: JavaProgram) -> Iterator[tuple[str, list[str] | str]]:
    """Run scenarios beside each other; yield what each observed, or how it failed."""
    for scenario in chosen:
        found.begin(scenario)
    for scenario in chosen:
        try:
            yield scenario, found.observe(scenario)
        except DriverError as error:
            yield scenario, str(error)[:4_000]


def main(arguments: list[str] | None = None) -> int:
    """Run the scenarios; the exit code is the number that differ from what is recorded."""
    parser = argparse.ArgumentParser(prog="python -m conformance.drivers.later_clients")
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
    with brokers(fake=options.fake) as namesrv_addr:
        for some, running in ((WAYS_SCENARIOS, program), (GRPC_SCENARIOS, grpc_program)):
            names = [one for one in chosen if one in some]
            if not names:
                continue
            with running(namesrv_addr) as found:
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
    text = report(scenario, recorded(RECORDED)[scenario], seen, "brokers of 5.5.0")
    reason = waiting(RECORDED).get(scenario)
    print(text or f"same      {scenario}", f"(waiting: {reason})" if reason else "", flush=True)
    return bool(text)


if __name__ == "__main__":
    sys.exit(main())
