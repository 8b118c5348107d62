"""Filters by expressions in the life of a group, and for what comes back to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.run import Run
from conformance.scenario import ENDS_ON_FOUR, scenario
from conformance.wire.requests import (
    SUBSCRIPTION_FLAG,
    SUSPEND_FLAG,
    heartbeat,
    properties,
    pull_fields,
    send_v2_fields,
)
from fakemq.protocol.codes import RequestCode

SQL = {"enablePropertyFilter": "true"}
CHECK_MS = 6_000
"""Held pulls are looked at every five seconds."""


def store(run: Run, topic: str, *messages: Mapping[str, str], stored: int = 0) -> None:
    """Have messages with these properties; their bodies are their offsets."""
    for offset, pairs in enumerate(messages, stored):
        fields = send_v2_fields(topic, i=properties(**pairs))
        body = str(offset)
        run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, fields, body, peer="producer")
        run.until_stored("broker-a", topic, offset + 1)


def subscriptions_of(body: Any) -> list[dict[str, object]]:
    """Of the one consumer in a heartbeat."""
    found: list[dict[str, object]] = body["consumerDataSet"][0]["subscriptionDataSet"]
    return found


@scenario("filter: an expression comes, goes, dies and comes back", config=SQL)
def filter_life(run: Run) -> None:
    topic, other, group = run.topic("SFilterLife"), run.topic("SFilterLife2"), "GFilterLife"
    store(run, topic, {"a": "7"}, {"a": "3"})

    def beat(text: str, version: int, *, name: str = topic, expression_type: str = "SQL92") -> None:
        body = heartbeat(
            *("life@1", group, name),
            expression=text,
            expression_type=expression_type,
            sub_version=version,
        )
        run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer="consumer")

    def pull(version: int) -> None:
        run.pull(topic, consumerGroup=group, sysFlag=0, subVersion=version)

    run.note("the filter is younger than what the pull knows: an empty one does not replace it")
    beat("a = 3", 1)
    beat("", 2)
    pull(1)
    pull(2)
    run.note("an unknown type; tags")
    beat("a = 3", 3, expression_type="XPATH")
    pull(3)
    beat("*", 4, expression_type="TAG")
    pull(4)
    run.note("another topic in its place; what was said before of the same version holds again")
    beat("a > 5", 5)
    beat("a > 5", 6, name=other)
    pull(5)
    beat("a < 5", 5)
    pull(5)
    run.note("the group leaves, and comes back with another expression of the same version")
    fields = {"clientID": "life@1", "consumerGroup": group}
    run.ask("broker-a", RequestCode.UNREGISTER_CLIENT, fields, peer="consumer")
    pull(5)
    beat("a < 5", 5)
    pull(5)
    beat("a < 5", 6)
    pull(6)


@scenario(
    "filter: a message that does not match wakes no held pull",
    config=SQL,
    real_s=6,
)
def filter_in_vain(run: Run) -> None:
    topic = run.topic("SFilterVain")
    fields = pull_fields(
        topic,
        sysFlag=SUBSCRIPTION_FLAG | SUSPEND_FLAG,
        subscription="a > 5",
        expressionType="SQL92",
    )
    run.after_hold_check(topic)
    held = run.hold(fields)
    run.note("less, nothing, no number, no int")
    store(run, topic, {"a": "3"}, {"b": "7"}, {"a": "x"}, {"a": "7.5"})
    run.nothing_comes("consumer")
    run.answer_within(held, CHECK_MS)


@scenario(
    "filter: retries are judged as what they were first",
    config=SQL | {"filterSupportRetry": "true"},
    releases=ENDS_ON_FOUR,
)
def filter_retries(run: Run) -> None:
    topic, group = run.topic("SFilterRetry"), "GFilterRetry"
    retries = f"%RETRY%{group}"
    body = heartbeat("retry@1", group, topic, expression="a > 5", expression_type="SQL92")
    subscriptions_of(body).extend(subscriptions_of(heartbeat("retry@1", group, retries)))
    run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer="consumer")
    store(
        *(run, retries),
        *({"a": "7", "RETRY_TOPIC": topic}, {"a": "3", "RETRY_TOPIC": topic}),
        *({"a": "3", "RETRY_TOPIC": "SElsewhere"}, {"b": "7", "RETRY_TOPIC": topic}),
    )
    run.pull(retries, consumerGroup=group, sysFlag=0, subVersion=1)
    run.note("by tags, too")
    run.pull(retries, consumerGroup=group)
    run.pull(retries, consumerGroup=group, subscription="t")
    run.note("so is what comes in while a pull waits")
    fields = pull_fields(retries, 4, consumerGroup=group, sysFlag=SUSPEND_FLAG, subVersion=1)
    run.after_hold_check(topic)
    held = run.hold(fields)
    store(run, retries, {"a": "3", "RETRY_TOPIC": topic}, stored=4)
    run.nothing_comes("consumer")
    store(run, retries, {"a": "7", "RETRY_TOPIC": topic}, stored=5)
    held.answer()


@scenario("filter: in a heartbeat only the hashes of tags count, and with a class not even they")
def filter_classes(run: Run) -> None:
    topic, group = run.topic("SFilterClass"), "GFilterClass"
    store(run, topic, {"TAGS": "a"}, {"TAGS": "b"}, {})
    said: list[Mapping[str, object]] = [{"codeSet": [98]}, {"classFilterMode": True}]
    for version, more in enumerate(said, 1):
        body = heartbeat("class@1", group, topic, expression="a", sub_version=version)
        subscriptions_of(body)[0].update(more)
        run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer="consumer")
        run.pull(topic, consumerGroup=group, sysFlag=0, subVersion=version)
    run.note("the flag of a pull that says so is not looked at")
    run.pull(topic, subscription="a", sysFlag=SUBSCRIPTION_FLAG | 8)
