"""What pull consumers and pull schedules have in common."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from fakemq.client.arguments import are_several, topic_name
from fakemq.client.consuming.pull_schedule import PullScheduleCore
from fakemq.client.consuming.pull_settings import PullSettings
from fakemq.client.errors import MQClientError
from fakemq.client.faces.functions import Kind, require_function
from fakemq.client.faces.settings import settled, settled_client
from fakemq.config.checked import whole
from fakemq.protocol.java import INT_MAX

if TYPE_CHECKING:
    from fakemq.client.consuming.pull import PullConsumerCore
    from fakemq.client.services import ClientServices

V = TypeVar("V")


def pull_settings(
    face: str, options: Mapping[str, object], group: str, topics: Collection[str] = ()
) -> PullSettings:
    """Return the checked settings; ``topics`` may be one topic."""
    names = (topics,) if isinstance(topics, str) else topics
    if not are_several(names):
        raise TypeError(f"topics={topics!r}: expected a topic, or several")
    for name in names:
        topic_name("a topic of topics", name)
    return settled(face, PullSettings, options, group=group, topics=tuple(names))


class ScheduleParts:
    """The checked arguments of a pull schedule, and its functions by topic."""

    def __init__(
        self,
        face: str,
        namesrv_addr: str | None,
        group: str,
        callbacks: object,
        pull_threads: int,
        wait_ms: int,
        options: Mapping[str, object],
        *,
        may_await: bool,
    ) -> None:
        self._face = face
        self._may_await = may_await
        self.settings = pull_settings(face, options, group)
        self.client = settled_client(namesrv_addr, options)
        self.pull_threads = whole("pull_threads", pull_threads, 1, INT_MAX)
        self.wait_ms = whole("await_termination_ms_when_shutdown", wait_ms, 0, INT_MAX)
        if callbacks is not None and not isinstance(callbacks, Mapping):
            raise TypeError(f"callbacks={callbacks!r}: expected {{topic: function}}")
        self.callbacks: dict[str, Callable[..., object]] = {}

    def check(self, topic: str, function: object) -> None:
        """Raise ConfigError for what is no topic, TypeError for what cannot be called for it."""
        topic_name("topic", topic)
        kind = Kind.ASYNC if self._may_await else Kind.PLAIN
        name = f"the callback of {topic}"
        require_function(name, function, ("queue", "context"), kind, self._face)

    def make_core(
        self, services: ClientServices, shown: Callable[[PullConsumerCore], V]
    ) -> PullScheduleCore[V]:
        """Return a core that can be started; raise MQClientError if it would call nothing."""
        if not self.callbacks:
            raise MQClientError(
                'no callback: pass callbacks={"topic": function}, or decorate a function with'
                ' @scheduling.on("topic")'
            )
        core: PullScheduleCore[Any] = PullScheduleCore(
            services, self.settings, shown, pull_threads=self.pull_threads
        )
        for topic, function in self.callbacks.items():
            core.register_pull_task_callback(topic, function)
        return core
