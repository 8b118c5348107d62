"""The Java programs that docs/ shows to projects: a recipe, and tests with JUnit.

They are compiled with RocketMQ 4.9.7 on the class path, into ``.cache`` inside the clone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from conformance.drivers.builds import CACHE, BuildError, run_tool, up_to_date
from conformance.targets.java_cluster import OPENS
from conformance.targets.java_jars import MAVEN_ENVIRONMENT, REFERENCE, class_path

SOURCES = Path(__file__).parents[1] / "java_project"
_HOME = CACHE / "java" / "project"
_JUNIT = "org.junit.platform:junit-platform-console-standalone:1.10.2"


def java_recipe(version: str) -> Sequence[str]:
    """Return the command of the recipe with the client of a release. Raises BuildError."""
    return [*_java(version), "Recipe"]


def junit(test: str) -> Sequence[str]:
    """Return the command that runs a class of tests. Raises BuildError."""
    launcher = "org.junit.platform.console.ConsoleLauncher"
    return [*_java(REFERENCE), launcher, "--details=tree", "--disable-banner", f"-c={test}"]


def _java(version: str) -> Sequence[str]:
    up_to_date(_HOME, sorted(SOURCES.iterdir()), _build)
    path = os.pathsep.join([str(_HOME / "classes"), str(_HOME / "lib" / "*"), class_path(version)])
    return ["java", *OPENS, "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", path]


def _build() -> None:
    repository = os.environ.get("FAKEMQ_M2") or str(CACHE / "m2")
    copy = (
        *("mvn", "--batch-mode", "--quiet", f"-Dmaven.repo.local={repository}"),
        "org.apache.maven.plugins:maven-dependency-plugin:3.6.0:copy",
        *(f"-Dartifact={_JUNIT}", f"-DoutputDirectory={_HOME / 'lib'}"),
    )
    output = run_tool([*copy, "--offline"], _HOME, MAVEN_ENVIRONMENT)
    if output is not None:  # the network only if something is not cached yet
        output = run_tool(copy, _HOME, MAVEN_ENVIRONMENT)
    if output is None:
        classes = f"{_HOME / 'lib'}/*{os.pathsep}{class_path(REFERENCE)}"
        compiler = ("javac", "-nowarn", "--release", "11", "-d", str(_HOME / "classes"))
        sources = sorted(map(str, SOURCES.iterdir()))
        output = run_tool([*compiler, "-cp", classes, *sources], _HOME, {})
    if output is not None:
        raise BuildError(f"the Java project cannot be built:\n{output[-4000:]}")
    # As projects have it: without, RocketMQ's servers log everything to stdout.
    logback = '<configuration><root level="OFF"/></configuration>'
    (_HOME / "classes" / "logback.xml").write_text(logback)
