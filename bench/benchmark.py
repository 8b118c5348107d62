"""RocketMQ's own benchmark programs, each in a JVM with its defaults.

``org.apache.rocketmq.example.benchmark`` of 5.5.0: Producer, BatchProducer and Consumer take a
snapshot of their counters each second and report on the last ten of them.
"""

from __future__ import annotations

from contextlib import closing

from conformance.drivers.drivers import Driver, DriverError
from conformance.drivers.java_program import client_log, java_command
from conformance.targets.java_jars import NEWEST, class_path

WARM_UP_REPORTS = 5
"""The first report comes after ten seconds and covers nine seconds; another follows each second.
The fifth report does not cover the first five seconds, in which the JVM compiles the client.
"""
TIMEOUT_S = 60.0
BODY_BYTES = 128
_PACKAGE = "org.apache.rocketmq.example.benchmark"


class Jvm(Driver):
    """A class with a ``main``, in a JVM with its own defaults.

    It finds a 5.5.0 client and RocketMQ's benchmark programs, or another version's client.
    """

    def __init__(self, main: str, *arguments: str, version: str = NEWEST) -> None:
        path = class_path(version, "benchmark" if version == NEWEST else "")
        super().__init__(
            lambda home: [*java_command(home, version, jvm=()), "-cp", path, main, *arguments]
        )

    def client_log(self) -> list[str]:
        return client_log(self.home)


class Benchmark(Jvm):
    """A running program; ``reports`` gets one dictionary each second."""

    def __init__(self, program: str, namesrv_addr: str, topic: str, *options: str) -> None:
        self.reports: list[dict[str, float]] = []
        super().__init__(
            *("conformance.Launcher", f"{_PACKAGE}.{program}"),
            *("-n", namesrv_addr, "-t", topic, "-ri", "1000", *options),
        )

    def on_line(self, line: str) -> None:
        report = parse_report(line)
        if report:
            self.reports.append(report)

    def report(self, number: int) -> dict[str, float]:
        """Return the report with a number, counted from 1.

        Raise DriverError if requests failed after the first report. Before it, a client that starts
        on a busy machine may lose some requests to its own time-out.
        """
        self.wait_for(lambda: len(self.reports) >= number, f"report {number}", TIMEOUT_S)
        first, report = self.reports[0], self.reports[number - 1]
        failed = [name for name in report if "Fail" in name and report[name] > first[name]]
        if failed:
            raise DriverError(f"{failed} of {report}\n{self.tail()}")
        return report


def parse_report(line: str) -> dict[str, float]:
    """Return the numbers of a report by their names, such as "Send TPS"; empty for another line.

    Source: example/benchmark/Producer.java#doPrintStats, BatchProducer, Consumer (5.5.0).
    """
    if not line.startswith("Current Time: "):
        return {}
    pairs = (part.split(":") for part in line.split(" | ")[1:])
    return {name.strip(): float(text) for name, text in pairs}


def run(program: str, namesrv_addr: str, topic: str, *options: str) -> dict[str, float]:
    """Return the report of a warm program. Raise DriverError with its output."""
    with closing(Benchmark(program, namesrv_addr, topic, *options)) as benchmark:
        return benchmark.report(WARM_UP_REPORTS)
