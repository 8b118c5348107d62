"""Archives of loaded classes, with which a JVM of the tests needs a third less to start.

A JVM spends most of its start on reading, verifying and linking classes. Java's class data sharing
writes the classes that one JVM has loaded into a file, and later JVMs map that file. There are
four archives: of a broker, which its name server uses, too, and of a client, each of both versions.

Source: https://docs.oracle.com/en/java/javase/17/docs/specs/man/java.html (Class Data Sharing)
"""

from __future__ import annotations

import fcntl
import subprocess
from collections.abc import Callable
from pathlib import Path

import fakemq
from conformance.drivers.java_program import SMALL_JVM as CLIENT_JVM
from conformance.drivers.java_program import JavaProgram
from conformance.targets.java_cluster import SMALL_JVM as SERVER_JVM
from conformance.targets.java_cluster import JavaCluster
from conformance.targets.java_jars import (
    CLIENT_VERSIONS,
    NEWEST,
    REFERENCE,
    Kind,
    class_path,
    java_cache,
    use_archive,
)

RECORDING = "-XX:+RecordDynamicDumpInfo"
LOADING = ("sync", "batch", "orderly", "push", "pull", "query")
"""Scenarios that load most classes of a client; each takes a second at most."""


def use_archives() -> None:
    """Have the JVMs of this process start with archives; make those that are missing.

    That takes some ten seconds, once for each build. A JVM without a suitable archive starts as
    usual, so that a Java that cannot write one is no error.
    """
    for version in (REFERENCE, NEWEST):
        _use(version, "server", _dump_server)
    for version in CLIENT_VERSIONS:
        _use(version, "client", _dump_client)


def _use(version: str, kind: Kind, dump: Callable[[str, Path], None]) -> None:
    class_path(version)  # builds what is missing
    home = java_cache(version)
    archive, stamp = home / f"{kind}.jsa", home / f"{kind}.stamp"
    wanted = (home / "stamp").read_text() + _java_version()
    with open(home / f"{kind}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != wanted:
            archive.unlink(missing_ok=True)
            dump(version, archive)
            stamp.write_text(wanted)
    if archive.exists():
        use_archive(version, kind, archive)


def _dump_server(version: str, archive: Path) -> None:
    jvm = (*SERVER_JVM, RECORDING)
    with JavaCluster(topics={"Archive": 1}, jvm=jvm, version=version) as cluster:
        _dump(cluster.brokers[0].pid, archive)


def _dump_client(version: str, archive: Path) -> None:
    with (
        fakemq.Cluster(masters=2) as cluster,
        JavaProgram(cluster.namesrv_addr, version, jvm=(*CLIENT_JVM, RECORDING)) as program,
    ):
        for scenario in LOADING:
            program.begin(scenario)
        for scenario in LOADING:
            program.observe(scenario)
        _dump(program.process.pid, archive)


def _dump(pid: int, archive: Path) -> None:
    command = ["jcmd", str(pid), "VM.cds", "dynamic_dump", str(archive)]
    subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)


def _java_version() -> str:
    return subprocess.run(
        ["java", "-version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    ).stderr
