"""The RocketMQ jars and our Java program, built by Maven into ``.cache`` inside the clone.

One call of ``class_path`` resolves, compiles and remembers; it is safe under xdist (a file lock per
version) and needs no network once the jars are there. Nothing is written outside the clone.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

REFERENCE = "4.9.7"
NEWEST = "5.5.0"
CLIENT_VERSIONS = (REFERENCE, NEWEST)

_SOURCES = Path(__file__).parents[1] / "java"
_CACHE = Path(__file__).parents[2] / ".cache"


class JavaBuildError(Exception):
    """Maven could not resolve or compile; the message carries its output."""


def missing_java() -> str | None:
    """Why the Java side cannot run here, in one line, or None when it can."""
    missing = [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]
    if not missing:
        return None
    return f"{' and '.join(missing)} not on PATH: the tests against real RocketMQ need a JDK, Maven"


def class_path(version: str = REFERENCE, *, benchmark: bool = False) -> str:
    """The class path with RocketMQ ``version`` and our program; builds it when it is not there.

    With ``benchmark`` it has RocketMQ's own measuring programs, too, which tests do not need.
    ``FAKEMQ_M2`` names a Maven repository to use instead of the clone's own. Raises JavaBuildError.
    """
    home = _CACHE / "java" / (f"{version}-benchmark" if benchmark else version)
    home.mkdir(parents=True, exist_ok=True)
    with open(home / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = home / "stamp"
        wanted = _fingerprint()
        if not stamp.exists() or stamp.read_text() != wanted:
            stamp.unlink(missing_ok=True)
            for part in ("classes", "lib"):  # what is not wanted any more would be found there
                shutil.rmtree(home / part, ignore_errors=True)
            _build(version, home, benchmark)
            stamp.write_text(wanted)
    return f"{home / 'classes'}{os.pathsep}{home / 'lib'}{os.sep}*"


def _fingerprint() -> str:
    digest = hashlib.sha256()
    for path in [_SOURCES / "pom.xml", *sorted(_SOURCES.rglob("*.java"))]:
        digest.update(f"{path.relative_to(_SOURCES)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _build(version: str, home: Path, benchmark: bool) -> None:
    repository = os.environ.get("FAKEMQ_M2") or str(_CACHE / "m2")
    command = [
        *("mvn", "--batch-mode", "--quiet", "--file", str(_SOURCES / "pom.xml")),
        *(f"-Dmaven.repo.local={repository}", f"-Drocketmq.version={version}"),
        f"-Dconformance.cache={home}",
    ]
    if benchmark:
        command.append("-Dbenchmark")
    output = ""
    for offline in (["--offline"], []):  # the network only when something is not cached yet
        done = subprocess.run(
            [*command, *offline, "process-classes"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
        )
        if done.returncode == 0:
            return
        output = done.stdout + done.stderr
    raise JavaBuildError(f"mvn failed for RocketMQ {version}:\n{output[-4000:]}")
