"""What reads, writes and streams runs once more, with the oldest PySpark that will do.

`make test` puts that into a folder beside the environment, where the newest is.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fakemq.spark.requirements import OLDEST_PYSPARK

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".venv/oldest-pyspark"
TESTS = (
    "test_versions.py",
    "reading/test_in_spark.py::test_spark_reads_a_topic",
    "writing/test_batch_writer.py::test_rows_become_messages_with_all_their_columns",
    "test_recipes.py::test_a_restart_reads_nothing_twice",
)
"""Every part of PySpark that calls fakemq is in one: batches and streams, read limits, triggers."""


def version_in_makefile() -> str:
    found = re.search(r"^OLDEST_PYSPARK := (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert found is not None
    return found[1]


def test_oldest_version_is_the_first_release_of_its_line() -> None:
    assert version_in_makefile() == ".".join(map(str, (*OLDEST_PYSPARK, 0)))


@pytest.mark.jvm
@pytest.mark.slow  # a session of its own, and all that is in TESTS
@pytest.mark.xdist_group("spark")  # not beside another session, on a machine of two cores
def test_selected_tests_pass_with_the_oldest_version() -> None:
    if not (FOLDER / "pyspark").exists():
        missing = "the oldest PySpark is not there: make oldest-pyspark"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(missing)
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "SPARK_", "PYSPARK_", "PYTHONPATH"))
    }
    environment |= {"PYTHONPATH": str(FOLDER), "FAKEMQ_PYSPARK": version_in_makefile()}
    files = [str(Path(__file__).parent / name) for name in TESTS]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *files],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=570,
    )
    assert done.returncode == 0, done.stdout
    assert " skipped" not in done.stdout.splitlines()[-1], done.stdout
