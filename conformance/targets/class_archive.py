"""Archives of loaded classes, with which a JVM of the tests needs half as much to start.

A JVM spends most of its start on reading, verifying and linking classes. Java's class data sharing
writes a list of classes into a file, linked, and later JVMs map that file. Each version has one
archive, of what a broker, its name server and a client load. Beside it lies the library of RocksDB,
which each broker of 5.x unpacks for itself otherwise.

Source: https://docs.oracle.com/en/java/javase/17/docs/specs/man/java.html (Class Data Sharing)
"""

from __future__ import annotations

import fcntl
import subprocess
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

from conformance.drivers.java_program import SMALL_JVM as CLIENT_JVM
from conformance.drivers.java_program import JavaProgram
from conformance.targets.java_cluster import SMALL_JVM as SERVER_JVM
from conformance.targets.java_cluster import JavaCluster
from conformance.targets.java_jars import NEWEST, REFERENCE, class_path, java_cache, use_archive

LOADING = ("sync", "batch", "orderly", "push", "pull", "query")
"""Scenarios that load most classes of clients and brokers; each takes a second at most."""
_LIST = "classes.lst"
_ROCKSDB = "librocksdbjni-linux64.so"
"""Other systems look for other names, and unpack what they find in the jar."""


def use_archives() -> None:
    """Have the JVMs of this process start with archives; make those that are missing.

    That takes some twenty seconds, once for each build. A JVM without a suitable archive starts as
    usual, so that a Java that cannot write one is no error.
    """
    for version in (REFERENCE, NEWEST):
        _use(version)


def _use(version: str) -> None:
    class_path(version)  # builds what is missing
    home = java_cache(version)
    archive, libraries, stamp = home / "classes.jsa", home / "libraries", home / "classes.stamp"
    wanted = (home / "stamp").read_text() + _java_version()
    with open(home / "classes.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != wanted:
            archive.unlink(missing_ok=True)
            _dump(version, archive, _loaded(version))
            _unpack(home / "lib", libraries)
            stamp.write_text(wanted)
    if archive.exists():
        use_archive(version, archive, libraries)


def _loaded(version: str) -> list[str]:
    """Return lines that name what servers and clients of a version load, each line once."""
    listed = f"-XX:DumpLoadedClassList={_LIST}"  # in the folder of each node
    with tempfile.TemporaryDirectory() as folder:
        of_client = Path(folder) / _LIST
        client_jvm = (*CLIENT_JVM, f"-XX:DumpLoadedClassList={of_client}")
        with JavaCluster(masters=2, jvm=(*SERVER_JVM, listed), version=version) as cluster:
            with JavaProgram(cluster.namesrv_addr, version, jvm=client_jvm) as program:
                for scenario in LOADING:
                    program.begin(scenario)
                for scenario in LOADING:
                    program.observe(scenario)
                program.process.terminate()
                program.process.wait()
            nodes = (*cluster.brokers, cluster.namesrv)
            for node in nodes:
                node.stop()  # a JVM that is killed may lose the end of its list
            return _lines([*(node.home / _LIST for node in nodes), of_client])


def _lines(lists: Iterable[Path]) -> list[str]:
    texts = [path.read_text() for path in lists if path.exists()]
    return list(dict.fromkeys(line for text in texts for line in text.splitlines()))


def _dump(version: str, archive: Path, classes: Iterable[str]) -> None:
    """Write an archive in a JVM of its own.

    A JVM that writes what it has loaded itself (``jcmd VM.cds dynamic_dump``) leaves out what it
    has not linked: 915 of the classes of a broker of 5.5.0.
    """
    listed = archive.with_suffix(".lst")
    listed.write_text("".join(f"{line}\n" for line in classes))
    command = [
        *("java", "-Xshare:dump", "-Xmx256m", "-XX:TieredStopAtLevel=1"),
        *(f"-XX:SharedClassListFile={listed}", f"-XX:SharedArchiveFile={archive}"),
        *("-cp", class_path(version)),
    ]
    subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)


def _unpack(jars: Path, libraries: Path) -> None:
    libraries.mkdir(exist_ok=True)
    for jar in jars.glob("rocketmq-rocksdb-*.jar"):
        with zipfile.ZipFile(jar) as members:
            members.extract(_ROCKSDB, libraries)


def _java_version() -> str:
    return subprocess.run(
        ["java", "-version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    ).stderr


if __name__ == "__main__":
    use_archives()
