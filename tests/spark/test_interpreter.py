"""The formats run with the Python that has fakemq, unless the user says another."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from fakemq.spark import interpreter
from fakemq.spark.interpreter import this_interpreter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT = "python3"


def _python_in_there(context: Any, patch: pytest.MonkeyPatch) -> str:
    patch.setattr(interpreter, "_context", lambda _spark: context)
    session: Any = SimpleNamespace()
    with this_interpreter(session):
        return str(context.pythonExec)


def test_local_session_runs_the_formats_with_this_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    context = SimpleNamespace(pythonExec=DEFAULT, master="local[2]")
    assert _python_in_there(context, monkeypatch) == sys.executable
    assert context.pythonExec == DEFAULT  # the user's functions keep what they have


@pytest.mark.parametrize(
    ("python", "master", "environment"),
    [
        ("/opt/python", "local[*]", None),
        (DEFAULT, "local[*]", DEFAULT),
        (DEFAULT, "spark://host:7077", None),
    ],
)
def test_users_setting_and_a_clusters_python_are_unchanged(
    python: str, master: str, environment: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    if environment is not None:
        monkeypatch.setenv("PYSPARK_PYTHON", environment)
    context = SimpleNamespace(pythonExec=python, master=master)
    assert _python_in_there(context, monkeypatch) == python


def test_spark_connect_session_has_no_python_setting() -> None:
    class Connected:
        @property
        def sparkContext(self) -> None:  # noqa: N802 - PySpark's name
            raise AttributeError("JVM_ATTRIBUTE_NOT_SUPPORTED")

    connected: Any = Connected()
    with this_interpreter(connected):
        pass
    assert interpreter._context(connected) is None


@pytest.mark.slow  # starts the session, if it is the first of the run
@pytest.mark.xdist_group("spark")
def test_format_is_read_when_spark_would_use_another_python(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    import fakemq.spark

    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", DEFAULT)
    made: list[str] = []
    register = type(spark.dataSource).register

    def noted(self: Any, source: Any) -> None:
        made.append(self.sparkSession.sparkContext.pythonExec)
        register(self, source)

    monkeypatch.setattr(type(spark.dataSource), "register", noted)
    fakemq.spark.register(spark)
    assert made == [sys.executable, sys.executable]
    assert spark.sparkContext.pythonExec == DEFAULT
