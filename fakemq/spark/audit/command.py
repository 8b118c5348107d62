"""The command ``audit``, from the directories to the exit code."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self, TextIO

import msgspec

from fakemq.clock.progress import ProgressBar
from fakemq.errors import ConfigError
from fakemq.spark.audit import audited
from fakemq.spark.audit.inputs import find_stores
from fakemq.spark.audit.pipeline import AuditRequest
from fakemq.spark.audit.report.screen import lines
from fakemq.spark.audit.summarise import FINDINGS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from pyspark import StatusTracker
    from pyspark.sql import SparkSession

    from fakemq.clock.machine_time import TimeSource
    from fakemq.spark.audit.summary import Summary

FOUND = 1
"""The exit code of an audit with findings."""

Write = Callable[[str], None]


class AuditOptions(AuditRequest, frozen=True):
    """The options of the command."""

    report: str | None = None
    csv: str | None = None
    output: str | None = None
    master: str = "local[*]"
    as_json: bool = False


def run(options: AuditOptions, write: Write) -> int:
    """Audit, show the result, and return `FOUND`, or 0 without findings.

    Raise ConfigError for input that cannot be read and output that cannot be written.
    """
    find_stores(options.stores)  # fail before a session is started
    if options.output is not None and os.path.exists(options.output):
        raise ConfigError(f"{options.output}: is there already; name a directory that is not")
    with AuditBar(sys.stderr) as bar, session(options.master) as spark:
        bar.tracker = spark.sparkContext.statusTracker()
        bar.step()
        found = audited(spark, options, bar.step)
        summary = found.summary(biographies=options.report is not None)
        if options.output is not None:
            found.verdicts.write.parquet(options.output)
    if options.report is not None:
        from fakemq.spark.audit.report.page import write_report

        write_report(summary, options.report)
    if options.csv is not None:
        from fakemq.spark.audit.report.rows import write_csv

        write_csv(summary, options.csv)
    if options.as_json:
        write(msgspec.json.encode(summary).decode())
    else:
        for line in lines(summary):
            write(line)
    return FOUND if has_findings(summary) else 0


def has_findings(summary: Summary) -> bool:
    """Return True if anything is lost, stuck, duplicated or out of order."""
    return any(one.verdict in FINDINGS for one in summary.counts)


@contextmanager
def session(master: str) -> Iterator[SparkSession]:
    """Use the existing session, or a new one that ends with the audit."""
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("fakemq audit")
    for name, value in (
        ("spark.ui.showConsoleProgress", "false"),  # `AuditBar` is on that line
        # Failures are raised; errors that Spark only logs are about its own cleanup.
        ("spark.log.level", "FATAL"),
    ):
        builder = builder.config(name, value)
    if master.startswith("local"):
        # Otherwise Spark looks up this machine's name, and warns if the network does not know it.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = builder.config("spark.ui.enabled", "false")
        builder = builder.config("spark.driver.host", "127.0.0.1")
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
    with _interrupt_unlogged():
        spark = builder.getOrCreate()
        try:
            yield spark
        finally:
            spark.stop()


@contextmanager
def _interrupt_unlogged() -> Iterator[None]:
    """Log no KeyboardInterrupt: py4j logs the traceback of Ctrl-C by the root logger."""

    def wanted(record: logging.LogRecord) -> bool:
        return not (record.exc_info and record.exc_info[0] is KeyboardInterrupt)

    root = logging.getLogger()
    root.addFilter(wanted)
    try:
        yield
    finally:
        root.removeFilter(wanted)


# The bar of the command ``audit``: how many of its steps are done, how fast, and the time left.
#
# Within a step it shows the tasks of Spark that are under way. Small stores take Spark the same
# time in each step, for its plans; in large ones those that read take longest.

STEPS = 22
"""How often the command calls `AuditBar.step`."""
LOOK_EVERY_S = 0.25


class AuditBar:
    """Draws while its block runs, if its stream is a terminal, on a thread of its own."""

    def __init__(self, stream: TextIO, *, time: TimeSource | None = None) -> None:
        self._shows = stream.isatty()
        self._progress = ProgressBar(STEPS, stream, "steps", title="audit", time=time)
        self._steps = 0
        self._shown = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._draw, name="fakemq-audit-bar", daemon=True)
        self.tracker: StatusTracker | None = None
        """Of the Spark session, once there is one."""

    def __enter__(self) -> Self:
        if self._shows:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over.set()
        if self._shows:
            self._thread.join()
        self._progress.clear()

    def step(self) -> None:
        """Count one more step as done."""
        self._steps += 1

    def look(self) -> None:
        """Draw what is done by now."""
        # A step may have several stages, one after another: the bar does not go back.
        within = min(0.9, self._part_of_stages())
        self._shown = max(self._shown, self._steps + within)
        self._progress.reached(min(self._shown, STEPS))

    def _draw(self) -> None:
        while not self._over.wait(LOOK_EVERY_S):
            self.look()

    def _part_of_stages(self) -> float:
        tracker = self.tracker
        if tracker is None:
            return 0.0
        try:
            stages = [tracker.getStageInfo(one) for one in tracker.getActiveStageIds()]
        except Exception:  # the session ends meanwhile; a bar is no reason to fail
            return 0.0
        tasks = sum(one.numTasks for one in stages if one is not None)
        done = sum(one.numCompletedTasks for one in stages if one is not None)
        return done / tasks if tasks else 0.0
