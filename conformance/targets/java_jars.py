"""The RocketMQ jars and our Java program, built by Maven into ``.cache`` inside the clone.

The first call of `class_path` resolves and compiles; later calls find the result. It is safe under
xdist (one file lock for each version) and needs no network once the jars are there. Nothing is
written outside the clone.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Literal

PROGRAM = "program.jar"
REFERENCE = "4.9.7"
NEWEST = "5.5.0"
REFERENCES = (REFERENCE, "5.3.2", NEWEST)
"""Releases that recordings are of."""
CLIENT_VERSIONS = (REFERENCE, NEWEST)

_SOURCES = Path(__file__).parents[1] / "java"
_CACHE = Path(__file__).parents[2] / ".cache"


Extra = Literal["", "benchmark", "proxy", "grpc"]
"""What a class path has besides: RocketMQ's measuring programs, its proxy, or its gRPC client."""

MAVEN_ENVIRONMENT = {
    "MAVEN_OPTS": f"{os.environ.get('MAVEN_OPTS', '')} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
}
"""For a Maven that works for seconds: without optimisation it takes half of the processor time."""

_archives: dict[str, list[str]] = {}
"""Version → the flags of a JVM that starts with a class archive; see `class_archive`."""


class JavaBuildError(Exception):
    """Maven could not resolve or compile; the message carries its output."""


def missing_java() -> str | None:
    """Return in one line why the Java side cannot run here; None when it can."""
    missing = [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]
    if not missing:
        return None
    return f"{' and '.join(missing)} not on PATH: the tests against real RocketMQ need a JDK, Maven"


def class_path(version: str = REFERENCE, extra: Extra = "") -> str:
    """Return the class path with RocketMQ ``version`` and our program; build it if it is missing.

    ``FAKEMQ_M2`` names a Maven repository to use instead of the clone's own. Raises JavaBuildError.
    """
    home = java_cache(version, extra)
    home.mkdir(parents=True, exist_ok=True)
    with open(home / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = home / "stamp"
        wanted = _fingerprint()
        if not stamp.exists() or stamp.read_text() != wanted:
            stamp.unlink(missing_ok=True)
            for part in ("classes", "lib"):  # jars and classes of an older build would be found
                shutil.rmtree(home / part, ignore_errors=True)
            _build(version, home, extra)
            stamp.write_text(wanted)
    # The gRPC client has classes that rocketmq-proto, which brokers need, has otherwise.
    first = sorted((home / "lib").glob("rocketmq-client-java-*.jar"))
    return os.pathsep.join(map(str, (home / PROGRAM, *first, home / "lib" / "*")))


def java_cache(version: str, extra: Extra = "") -> Path:
    """Return the folder for everything that is built for a version of RocketMQ."""
    return _CACHE / "java" / (f"{version}-{extra}" if extra else version)


def use_archive(version: str, archive: Path, libraries: Path) -> None:
    """Have later JVMs of this process start with an archive of loaded classes.

    ``libraries`` has native ones that a JVM would unpack from a jar otherwise.
    """
    _archives[version] = [
        f"-XX:SharedArchiveFile={archive}",
        "-Xlog:disable",  # a JVM that finds the archive stale would say so among a driver's lines
        f"-Djava.library.path={libraries}",
    ]


def archive_flags(version: str) -> list[str]:
    """Return the flags for a JVM that starts with a class archive; none without an archive."""
    return _archives.get(version, [])


def _fingerprint() -> str:
    digest = hashlib.sha256(PROGRAM.encode())
    for path in [_SOURCES / "pom.xml", *sorted(_SOURCES.rglob("*.java"))]:
        digest.update(f"{path.relative_to(_SOURCES)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _build(version: str, home: Path, extra: Extra) -> None:
    repository = os.environ.get("FAKEMQ_M2") or str(_CACHE / "m2")
    command = [
        *("mvn", "--batch-mode", "--quiet", "--file", str(_SOURCES / "pom.xml")),
        *(f"-Dmaven.repo.local={repository}", f"-Drocketmq.version={version}"),
        f"-Dconformance.cache={home}",
    ]
    if extra:
        command.append(f"-D{extra}")
    output = ""
    for offline in (["--offline"], []):  # the network only when something is not cached yet
        done = subprocess.run(
            [*command, *offline, "process-classes"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=os.environ | MAVEN_ENVIRONMENT,
            timeout=600,
        )
        if done.returncode == 0:
            # A class archive needs a jar: Java archives no class that lies in a folder.
            _run("jar", "cf", str(home / PROGRAM), "-C", str(home / "classes"), ".")
            return
        output = done.stdout + done.stderr
    raise JavaBuildError(f"mvn failed for RocketMQ {version}:\n{output[-4000:]}")


def _run(*command: str) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise JavaBuildError(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
