"""Drivers of programs that take their settings as words, as the Go and the Python one do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from conformance.drivers.drivers import Consuming, Producing


class Launch(NamedTuple):
    """How a program is started: the words before its own, and its environment by its home."""

    command: Callable[[], Sequence[str]]
    environment: Callable[[Path], Mapping[str, str]]


class LaunchedProducer(Producing):
    """A producer in a process of the program of its class."""

    LAUNCH: ClassVar[Launch]

    def __init__(
        self, namesrv_addr: str, topic: str, group: str = "GProducer", per_second: int = 200
    ) -> None:
        words = (namesrv_addr, "produce", topic, group, str(per_second))
        super().__init__(lambda _: [*self.LAUNCH.command(), *words], self.LAUNCH.environment)


class LaunchedConsumer(Consuming):
    """A push consumer in a process of the program of its class."""

    LAUNCH: ClassVar[Launch]

    def __init__(
        self,
        namesrv_addr: str,
        topic: str,
        group: str = "GConsumer",
        expression: str = "*",
        instance: str = "c1",
        *,
        orderly: bool = False,
    ) -> None:
        words = [namesrv_addr, "consume", topic, group, expression, instance]
        if orderly:
            words.append("orderly")
        super().__init__(lambda _: [*self.LAUNCH.command(), *words], self.LAUNCH.environment)
