"""What both lite pull consumers have in common."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, TypeAlias, Unpack

import msgspec

from fakemq.client.arguments import are_several, topic_name
from fakemq.client.consuming.lite_pull import LitePullConsumerCore
from fakemq.client.consuming.lite_settings import LitePullSettings
from fakemq.client.consuming.received import ReceivedMessage
from fakemq.client.consuming.subscriptions import require_subscription
from fakemq.client.faces.base import Face
from fakemq.client.faces.functions import Kind, require_function
from fakemq.client.faces.handlers import Subscribe, subscriptions
from fakemq.client.faces.options import LitePullOptions
from fakemq.client.faces.settings import settled, settled_client
from fakemq.errors import ConfigError
from fakemq.protocol.bodies.queue import MessageQueue

if TYPE_CHECKING:
    from fakemq.client.consuming.lite_queues import MessageQueueListener
    from fakemq.client.consuming.read_ahead import LitePoll
    from fakemq.client.consuming.settings import Selector
    from fakemq.client.services import ClientServices
    from fakemq.client.tasks import Task


class LiteParts:
    """The checked arguments of a lite pull consumer, and what is set before its start."""

    def __init__(
        self,
        face: str,
        namesrv_addr: str | None,
        group: str,
        subscribe: Subscribe | None,
        options: Mapping[str, object],
    ) -> None:
        self.settings = settled(face, LitePullSettings, options, ("subscribe",), group=group)
        self.client = settled_client(namesrv_addr, options)
        self.subscriptions = subscriptions(subscribe)
        self._before_start: list[Callable[[LitePullConsumerCore], object]] = []
        self.progress = LoopProgress()

    def subscribe(
        self, topic: str, expression: str | Selector, listener: MessageQueueListener | None
    ) -> None:
        """Subscribe to a topic at the start."""
        require_subscription(topic, expression)
        self.subscriptions[topic] = expression
        if listener is not None:
            self.before_start(lambda core: _at_once(core.subscribe(topic, expression, listener)))

    def check_listener(self, listener: object, arguments: tuple[str, ...]) -> None:
        """Raise TypeError for a listener that cannot be called so; None is none."""
        if listener is not None:
            require_function("listener", listener, arguments, Kind.PLAIN, "a lite pull consumer")

    def set_for_assign(self, topic: str, expression: str) -> None:
        """Choose by tags among the messages of a topic's assigned queues, from the start."""
        require_subscription(topic, expression)
        self.before_start(lambda core: core.set_sub_expression_for_assign(topic, expression))

    def before_start(self, prepare: Callable[[LitePullConsumerCore], object]) -> None:
        """Call a function with the core before it starts."""
        self._before_start.append(prepare)

    def make_core(self, services: ClientServices) -> LitePullConsumerCore:
        """Return a core that can be started."""
        subscribe: dict[str, str | Selector] = dict(self.subscriptions)
        core = LitePullConsumerCore(
            services, msgspec.structs.replace(self.settings, subscribe=subscribe)
        )
        for prepare in self._before_start:
            prepare(core)
        return core


def _at_once(task: Task[None]) -> None:
    """Run a task of a core that does not run yet, and therefore has nothing to wait for."""
    for step in task:
        raise AssertionError(f"{step} before the start")


class LoopProgress:
    """How far loops over a consumer are, by queue: the offset behind the last finished message."""

    def __init__(self) -> None:
        self._finished: dict[MessageQueue, tuple[int, LitePoll]] = {}

    def finished(self, message: ReceivedMessage, polling: LitePoll) -> None:
        """Note that a loop has asked for the message behind this one."""
        if polling.is_valid:
            self._finished[queue_of(message)] = message.queue_offset + 1, polling

    def forget(self) -> None:
        """Forget it: the program polls by itself."""
        self._finished.clear()

    def end(self, core: LitePullConsumerCore) -> Task[None]:
        """Commit it, if the consumer commits by itself, and shut down.

        A queue that was sought, and not read since, is left out.
        """
        finished = self._finished.copy().items()
        offsets = {queue: offset for queue, (offset, polling) in finished if polling.is_valid}
        if offsets and core.settings.auto_commit and core.is_running:
            yield from core.commit(offsets, persist=False)
        yield from core.shutdown()


def queue_of(message: ReceivedMessage) -> MessageQueue:
    """Return the queue of a message, without the namespace."""
    return MessageQueue(
        topic=message.topic, broker_name=message.broker_name, queue_id=message.queue_id
    )


Committing: TypeAlias = (
    "Mapping[MessageQueue, int] | Collection[MessageQueue] | ReceivedMessage | None"
)
"""What to commit: offsets of your own; what polls have returned of some queues, or of all (None);
or a message, and those before it in its queue."""


def to_commit(what: Committing) -> Mapping[MessageQueue, int] | Collection[MessageQueue] | None:
    """Return what a core commits for the argument of ``commit``."""
    if isinstance(what, ReceivedMessage):
        return {queue_of(what): what.queue_offset + 1}
    if what is not None and not are_several(what):
        raise ConfigError(
            f"commit({what!r}): expected nothing, a message, {{queue: offset}}, or several queues"
        )
    return what


class LiteFace(Face[LitePullConsumerCore]):
    """What both lite pull consumers do without waiting."""

    def __init__(
        self,
        namesrv_addr: str | None = None,
        *,
        group: str,
        subscribe: Subscribe | None = None,
        **options: Unpack[LitePullOptions],
    ) -> None:
        name = type(self).__name__
        self._parts = LiteParts(name, namesrv_addr, group, subscribe, options)
        super().__init__(self._parts.client, group)

    @property
    def settings(self) -> LitePullSettings:
        """What it was made with."""
        return self._parts.settings

    def unsubscribe(self, topic: str) -> None:
        """Read a topic no longer."""
        if self._is_started:
            core = self._running_core()
            self._call(lambda: core.unsubscribe(topic))
            return
        self._parts.subscriptions.pop(topic_name("topic", topic), None)

    def assign(self, queues: Collection[MessageQueue]) -> None:
        """Read exactly these queues, without regard to other members of the group.

            consumer.assign(consumer.fetch_message_queues("orders"))

        Raise ConfigError without a queue, MQClientError after `subscribe`.
        """
        core = self._running_core()
        self._call(lambda: core.assign(queues))

    def set_sub_expression_for_assign(self, topic: str, expression: str) -> None:
        """Choose by tags among the messages of a topic's assigned queues; before the start."""
        if self._core is not None:
            self._core.set_sub_expression_for_assign(topic, expression)
        self._parts.set_for_assign(topic, expression)

    def assignment(self) -> list[MessageQueue]:
        """Return the queues that are read now, sorted."""
        core = self._running_core()
        return self._call(core.assignment)

    def pause(self, queues: Collection[MessageQueue]) -> None:
        """Read no further from these queues; what was read ahead is still returned by polls."""
        core = self._running_core()
        self._call(lambda: core.pause(queues))

    def resume(self, queues: Collection[MessageQueue]) -> None:
        """Read from these queues again."""
        core = self._running_core()
        self._call(lambda: core.resume(queues))
