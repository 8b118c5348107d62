"""What brokers of the cluster registered last, so that of the next body only the new is read.

A broker says all it has each time: mostly what it said before, or that and one topic more. With
ten thousand topics, reading them all takes 20 ms, in which nothing else is answered. This is for
brokers inside the cluster, whose bodies are as `register_broker_json` writes them.
"""

from __future__ import annotations

from collections.abc import Iterator

from fakemq.protocol.bodies.topic import RegisterBrokerBody, TopicConfig, find_topics


class StandingTopics:
    """By broker name: the JSON of topics whose queues are in the table just as it says."""

    def __init__(self) -> None:
        self._said: dict[str, bytes] = {}

    def read(
        self, broker_name: str, body: bytes
    ) -> tuple[RegisterBrokerBody, Iterator[TopicConfig]] | None:
        """What a body says but for its topics, and those of them that do not stand; None if the
        body is of another shape.

        Topics are read when they are iterated over, which is to say that they are entered.
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
        """What a broker registered is not known in this form."""
        self._said.pop(broker_name, None)

    def clear(self) -> None:
        """Something else than a registration changes the queues of any broker."""
        self._said.clear()
