"""The command ``audit``, from the directories to the exit code."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from fakemq.errors import ConfigError
from fakemq.spark.audit import audited
from fakemq.spark.audit.inputs import find_stores
from fakemq.spark.audit.pipeline import Asked
from fakemq.spark.audit.progress import AuditBar
from fakemq.spark.audit.report.screen import lines
from fakemq.spark.audit.summarise import FINDINGS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from fakemq.spark.audit.summary import Summary

FOUND = 1
"""The exit code of an audit with findings."""

Write = Callable[[str], None]


class AuditOptions(Asked, frozen=True):
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
