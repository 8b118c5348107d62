"""Filters: tags by their hash, SQL92 by properties."""

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import scenario
from conformance.wire.requests import (
    HELD,
    heartbeat,
    properties,
    pull_fields,
    send_v2_fields,
)
from fakemq.protocol.codes import RequestCode

FILTERS = {"enablePropertyFilter": "true"}
BAD_EXPRESSIONS = (
    "",
    "a >",
    "a > 'x'",
    "a = 'it''s' and",
    "a between 3 and 1",
    "a in ()",
    "a in (1, 2)",
    "a like 'x%'",
    "a + 1 > 2",
    "1 and 2",
    "a",
    "'a'",
    "NULL",
    "a is 1",
    "a > 9223372036854775808",
    "not",
    "a = 1 ; b = 2",
    "(a = 1",
    "a == 1",
    "a > 1 > 2",
)


def store_with(run: Run, topic: str, *pairs: dict[str, str]) -> None:
    """Have a message with these properties each, one after the other, with numbers for bodies."""
    for number, one in enumerate(pairs):
        fields = send_v2_fields(topic, i=properties(**one))
        run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, fields, str(number), peer="producer")
    run.until_stored("broker-a", topic, len(pairs))


def sql_pull(run: Run, topic: str, expression: str, offset: int = 0) -> None:
    run.pull(topic, offset, subscription=expression, expressionType="SQL92")


def config_body(topic: str, expression: str, expression_type: str) -> dict[str, object]:
    """Return the body of CHECK_CLIENT_CONFIG."""
    return {
        "clientId": "checking@1",
        "group": "GChecking",
        "namespace": "",
        "subscriptionData": {
            "classFilterMode": False,
            "codeSet": [],
            "expressionType": expression_type,
            "subString": expression,
            "subVersion": 1,
            "tagsSet": [],
            "topic": topic,
        },
    }


def check_config(run: Run, topic: str, expression: str, expression_type: str = "SQL92") -> None:
    body = config_body(topic, expression, expression_type)
    run.ask("broker-a", RequestCode.CHECK_CLIENT_CONFIG, {}, body, peer="checking")


@scenario("filter: clients distinguish tags of the same hash, brokers do not")
def filter_tags(run: Run) -> None:
    topic = run.topic("STags")
    store_with(run, topic, {"TAGS": "Aa"}, {"TAGS": "BB"}, {"TAGS": "C"}, {"own": "x"})
    run.note("of Aa and BB the hash is the same")
    run.pull(topic, subscription="Aa")
    run.note("blanks and empty tags do not count")
    run.pull(topic, subscription=" C ||  || D")
    run.note("no tag, nothing said")
    run.pull(topic, subscription="")
    run.pull(topic, subscription="*")


@scenario("filter: SQL92 in the pull", config=FILTERS)
def filter_sql_pull(run: Run) -> None:
    topic = run.topic("SSql")
    store_with(
        run,
        topic,
        {"TAGS": "t", "a": "1", "b": "x"},
        {"a": "5", "c": "true"},
        {"b": "it's"},
        {"a": "2.5", "b": "X"},
    )
    for expression in (
        "a > 2",
        "a between 1 and 3",
        "a not between 1 and 3",
        "b = 'x'",
        "b = 'it''s'",
        "b in ('x', 'X')",
        "b not in ('x', 'X')",
        "b is null",
        "b is not null and a < 3",
        "not (a >= 2)",
        "c = true or TAGS = 't'",
        "a <> 5",
        "a = 1.0",
        "true",
        "false",
        "missing = 1",
    ):
        sql_pull(run, topic, expression)
    run.note("from the last on")
    sql_pull(run, topic, "a > 2", 3)


@scenario("filter: a held pull waits for what it wants", config=FILTERS, real_s=6)
def filter_sql_held(run: Run) -> None:
    topic = run.topic("SSqlHeld")
    run.after_hold_check(topic)
    fields = pull_fields(topic, subscription="a > 2", expressionType="SQL92", sysFlag=HELD)
    held = run.hold(fields)
    send_fields = send_v2_fields(topic, i=properties(a="1"))
    run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, send_fields, "0", peer="producer")
    run.nothing_comes("consumer")
    send_fields = send_v2_fields(topic, i=properties(a="3"))
    run.ask("broker-a", RequestCode.SEND_MESSAGE_V2, send_fields, "1", peer="producer")
    held.answer()


@scenario(
    "filter: SQL92 by what the heartbeat said, and what the broker knows of it", config=FILTERS
)
def filter_sql_heartbeat(run: Run) -> None:
    topic = run.topic("SSqlBeats")
    group = "GSqlBeats"
    store_with(run, topic, {"a": "1"}, {"a": "5"})

    def beat(expression: str, version: int) -> None:
        body = heartbeat(
            "sql@1",
            group,
            topic,
            expression=expression,
            expression_type="SQL92",
            sub_version=version,
        )
        run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer="consumer")

    def pull(version: int) -> None:
        run.pull(
            topic,
            sysFlag=0,
            consumerGroup=group,
            subVersion=version,
            subscription="",
            expressionType="SQL92",
        )

    run.note("an expression that is none: no filter data")
    beat("a >", 1)
    pull(1)
    run.note("one that is one")
    beat("a > 2", 2)
    pull(2)
    pull(3)
    run.note("a newer one that is none: the filter data stay as they were")
    beat("a > 'x'", 5)
    pull(5)
    pull(2)
    run.note("the old one in a newer version")
    beat("a > 2", 6)
    pull(6)
    run.note("another one in the same version, and in an older one")
    beat("a < 2", 6)
    pull(6)
    beat("a < 2", 4)
    pull(4)
    beat("a < 2", 7)
    pull(7)
    run.note("nothing, in a newer version: the filter data stay as they were, and are too old")
    beat("", 8)
    pull(8)
    pull(7)
    run.note("one in the pull wins")
    run.pull(topic, consumerGroup=group, subscription="a = 5", expressionType="SQL92")


@scenario("filter: the config of a client is checked", config=FILTERS)
def check_client_config(run: Run) -> None:
    topic = run.topic("SCheck")
    check_config(run, topic, "a > 1 and b = 'x'")
    check_config(run, topic, "a || b", "TAG")
    check_config(run, topic, "||", "TAG")
    run.note("no language that the broker knows")
    check_config(run, topic, "a > 1", "SQL93")
    run.note("expressions that are none")
    for expression in BAD_EXPRESSIONS:
        check_config(run, topic, expression)
    run.note("in a pull")
    sql_pull(run, topic, "a >")
    sql_pull(run, topic, "")
    run.pull(topic, subscription="a > 1", expressionType="SQL93")


@scenario("filter: a broker that filters by tags only")
def filter_sql_off(run: Run) -> None:
    topic = run.topic("SSqlOff")
    check_config(run, topic, "a > 1")
    check_config(run, topic, "a >")
    check_config(run, topic, "t", "TAG")
    sql_pull(run, topic, "a > 1")
    sql_pull(run, topic, "a >")
    body = heartbeat("off@1", "GSqlOff", topic, expression="a > 1", expression_type="SQL92")
    run.ask("broker-a", RequestCode.HEART_BEAT, {}, body, peer="consumer")
    run.pull(topic, sysFlag=0, consumerGroup="GSqlOff", subVersion=1)
