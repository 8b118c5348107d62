"""Observations as the Java program says them: Java's spelling of values, its names of errors."""

from __future__ import annotations

import re
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import Enum

from fakemq.client.errors import MQBrokerError, MQClientError
from fakemq.errors import FakemqError

_speaking = threading.Lock()


def event(line: str) -> None:
    """Print one line for the test that steers the program."""
    with _speaking:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


def spelled(value: object) -> str:
    """Return a value as ``String.valueOf`` spells it: ``true``, ``null``, ``[a, b]``, ``{a=b}``."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "null"
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{spelled(k)}={spelled(v)}" for k, v in value.items()) + "}"
    if isinstance(value, set | frozenset):
        return spelled(sorted(value))
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(spelled, value)) + "]"
    return str(value)


def tally(things: Iterable[object]) -> dict[str, int]:
    """Return how often each thing occurs, in the order of their names."""
    counts = Counter(spelled(one) for one in things)
    return {name: counts[name] for name in sorted(counts)}


def neutral(text: str, suffix: str) -> str:
    """Return an observation without the run's suffix, ports and times."""
    text = text.replace(suffix, "")
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text)
    return re.sub(r"\b1\d{12}\b", "TIME", text).replace("\n", " ")


def failure_text(error: Exception) -> str:
    """Return what the Java program says of an exception, by Java's name of its class."""
    first = str(error).split("\n")[0]
    if isinstance(error, MQBrokerError):
        return f"MQBrokerException code={error.code} {spelled(error.remark)}"
    if type(error) is MQClientError:
        first = re.sub(r"cost \[\d+]ms", "cost [N]ms", first)
        first = re.sub(r"BrokersSent: .*", "BrokersSent: ...", first)
        # What is behind it, advice or a cause, only our client says.
        first = re.sub(
            r"(service state not OK, \w+|threw exception\.|by SQL92)(?:: | ).*", r"\1", first
        )
        cause = error.__cause__
        why = ""
        # Python's errors have causes where Java's have none.
        if isinstance(cause, MQBrokerError) and first.startswith("Send ["):
            why = f", caused by code={cause.code} {spelled(cause.remark)}"
        return f"MQClientException code={error.code} {first}{why}"
    name = type(error).__name__
    if isinstance(error, FakemqError):
        name = re.sub("Error$", "Exception", name)
    return f"{name} {first}"
