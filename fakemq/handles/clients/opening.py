"""Opens a producer or consumer of the requested kind, for `Cluster` and `AsyncCluster`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.client.faces.handlers import subscriptions
from fakemq.client.producing.namespace import wrap
from fakemq.config.checked import one_of

if TYPE_CHECKING:
    from fakemq.client.faces.async_producer import AsyncProducer
    from fakemq.client.faces.handlers import Subscribe
    from fakemq.client.faces.options import ProducerOptions, PushOptions
    from fakemq.client.faces.producer import Producer
    from fakemq.handles.clients.async_consumers import AsyncInsideConsumer
    from fakemq.handles.clients.async_producers import AsyncInsideProducer
    from fakemq.handles.clients.async_sockets import AsyncRecordingConsumer
    from fakemq.handles.clients.consumers import InsideConsumer
    from fakemq.handles.clients.producers import InsideProducer
    from fakemq.handles.clients.recording import OnMessage
    from fakemq.handles.clients.sockets import RecordingConsumer
    from fakemq.handles.cluster import ClusterBase


def producer(
    cluster: ClusterBase, kind: str, group: str, options: ProducerOptions
) -> InsideProducer | Producer:
    """Return a started producer, inside or blocking."""
    if one_of("kind", kind, ("inside", "blocking")) == "inside":
        from fakemq.handles.clients.producers import InsideProducer

        return InsideProducer(cluster._running, group, **options)
    from fakemq.client.faces.producer import Producer

    producer = Producer(cluster.namesrv_addr, group=group, **options).start()
    cluster._life.clients.append(producer)
    return producer


def async_producer(
    cluster: ClusterBase, kind: str, group: str, options: ProducerOptions
) -> AsyncInsideProducer | AsyncProducer:
    """Return a producer: a started one inside, or an asynchronous one that its block starts."""
    if one_of("kind", kind, ("inside", "async")) == "inside":
        from fakemq.handles.clients.async_producers import AsyncInsideProducer

        return AsyncInsideProducer(cluster._running, group, **options)
    from fakemq.client.faces.async_producer import AsyncProducer

    return AsyncProducer(cluster.namesrv_addr, group=group, **options)


def consumer(
    cluster: ClusterBase,
    kind: str,
    group: str,
    subscribe: Subscribe,
    on_message: OnMessage | None,
    options: PushOptions,
) -> InsideConsumer | RecordingConsumer:
    """Return a started consumer, inside or blocking."""
    kind = one_of("kind", kind, ("inside", "blocking"))
    _create_topics(cluster, subscribe, options)
    if kind == "inside":
        from fakemq.handles.clients.consumers import InsideConsumer

        return InsideConsumer(cluster._running, group, subscribe, on_message, **options)
    from fakemq.handles.clients.sockets import RecordingConsumer

    consumer = RecordingConsumer(
        cluster.namesrv_addr, group=group, subscribe=subscribe, on_message=on_message, **options
    ).start()
    cluster._life.clients.append(consumer)
    return consumer


def async_consumer(
    cluster: ClusterBase,
    kind: str,
    group: str,
    subscribe: Subscribe,
    on_message: OnMessage | None,
    options: PushOptions,
) -> AsyncInsideConsumer | AsyncRecordingConsumer:
    """Return a consumer: a started one inside, or an asynchronous one that its block starts."""
    kind = one_of("kind", kind, ("inside", "async"))
    _create_topics(cluster, subscribe, options)
    if kind == "inside":
        from fakemq.handles.clients.async_consumers import AsyncInsideConsumer

        return AsyncInsideConsumer(cluster._running, group, subscribe, on_message, **options)
    from fakemq.handles.clients.async_sockets import AsyncRecordingConsumer

    return AsyncRecordingConsumer(
        cluster.namesrv_addr, group=group, subscribe=subscribe, on_message=on_message, **options
    )


def _create_topics(cluster: ClusterBase, subscribe: Subscribe, options: PushOptions) -> None:
    """Create the subscribed topics that do not exist, unless no master runs.

    A consumer looks for a topic that it does not find only every 30 s, which surprises a test.
    """
    core = cluster._core
    names = [wrap(options.get("namespace", ""), topic) for topic in subscriptions(subscribe)]

    def missing() -> list[str]:
        masters = core.running_masters()
        return [
            name
            for name in names
            if masters and all(one.topics.select(name) is None for one in masters)
        ]

    for name in cluster._call(missing):
        cluster.create_topic(name)
