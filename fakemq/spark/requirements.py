"""Checks that the packages of the extra ``spark`` are installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

OLDEST_PYSPARK = (4, 2)
"""The first version with limits and Trigger.AvailableNow for streaming sources in Python."""


def require_pyspark() -> None:
    """Raise ImportError, in one line, if PySpark or pyarrow is missing or too old."""
    try:
        found = version("pyspark")
        version("pyarrow")
        version("numpy")
    except PackageNotFoundError as error:
        raise ImportError(
            f"fakemq.spark needs {error.name}: pip install 'fakemq[spark]'", name=error.name
        ) from None
    if tuple(map(int, found.split(".")[:2])) < OLDEST_PYSPARK:
        oldest = ".".join(map(str, OLDEST_PYSPARK))
        raise ImportError(
            f"fakemq.spark needs PySpark {oldest} or newer, and this is {found}:"
            " pip install 'fakemq[spark]'",
            name="pyspark",
        )
