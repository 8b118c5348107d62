"""The last registered topics of brokers in the cluster, so that only new ones are decoded.

A broker registers all its topics each time; mostly they are the same as before, or one more. To
decode ten thousand topics takes 20 ms, in which nothing else is answered. This works for brokers
inside the cluster, whose bodies `register_broker_json` writes.
"""

from __future__ import annotations

from collections.abc import Iterator

from fakemq.protocol.bodies.topic import RegisterBrokerBody, TopicConfig, find_topics


class StandingTopics:
    """Broker name → the JSON of each topic whose queues are in the table exactly so."""

    def __init__(self) -> None:
        self._said: dict[str, bytes] = {}

    def read(
        self, broker_name: str, body: bytes
    ) -> tuple[RegisterBrokerBody, Iterator[TopicConfig]] | None:
        """Return a body without its topics, and the topics that are new or changed.

        Return None if the body has another form. The caller must enter each topic over which it
        iterates: the topic then counts as known.
        """
        found = find_topics(body)
        if found is None:
            return None
        begin, end = found
        content = RegisterBrokerBody.decode(body[:begin] + body[end:])
        return content, self._new_topics(broker_name, body, begin, end)

    def _new_topics(
        self, broker_name: str, body: bytes, begin: int, end: int
    ) -> Iterator[TopicConfig]:
        said = self._said.get(broker_name)
        new = begin
        if said and body.startswith(said, begin):
            after = begin + len(said)
            if after == end or body[after : after + 1] == b",":
                new = min(after + 1, end)
        content = RegisterBrokerBody.decode(body[:begin] + body[new:])
        yield from content.topic_config_serialize_wrapper.topic_config_table.values()
        self._said[broker_name] = body[begin:end]

    def forget(self, broker_name: str) -> None:
        """Forget the topics of a broker that registered in another form."""
        self._said.pop(broker_name, None)

    def clear(self) -> None:
        """Forget all topics: something other than a registration changes the queues."""
        self._said.clear()
