"""What a name server says of topics, brokers and its own settings."""

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import ENDS_ON_FOUR, scenario
from fakemq.protocol.codes import RequestCode

BEFORE_STANDARD_JSON = 400
"""The version before V4_9_4, from which on routes are standard JSON."""


@scenario("routes: a topic that exists, one that does not, and the dialect by version")
def routes(run: Run) -> None:
    topic = run.topic("SRoutes", 2)
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
    run.note("an old client gets fastjson's own dialect, unless it says that it cannot read it")
    code, old = RequestCode.GET_ROUTEINFO_BY_TOPIC, BEFORE_STANDARD_JSON
    run.ask("namesrv", code, {"topic": topic}, version=old)
    run.ask("namesrv", code, {"topic": topic, "acceptStandardJsonOnly": True}, version=old)
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "SNowhere"})
    run.note("the topic that new topics are made after")
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": "TBW102"})


@scenario("cluster info: every cluster and broker, in fastjson's dialect always")
def cluster_info(run: Run) -> None:
    run.ask("namesrv", RequestCode.GET_BROKER_CLUSTER_INFO)


@scenario("topics of a cluster and of the system")
def topic_lists(run: Run) -> None:
    run.ask("namesrv", RequestCode.GET_TOPICS_BY_CLUSTER, {"cluster": "SNoCluster"})
    run.ask("namesrv", RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS)
    run.ask("namesrv", RequestCode.GET_UNIT_TOPIC_LIST)
    run.note("a name server forgets a topic on request")
    topic = run.topic("SForgotten")
    run.ask("namesrv", RequestCode.DELETE_TOPIC_IN_NAMESRV, {"topic": topic})
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
    run.ask("namesrv", RequestCode.DELETE_TOPIC_IN_NAMESRV, {"topic": "SNowhere"})


@scenario("KV config: put, get, list and delete")
def kv_config(run: Run) -> None:
    item = {"namespace": "SSpace", "key": "k"}
    run.ask("namesrv", RequestCode.GET_KV_CONFIG, item)
    run.ask("namesrv", RequestCode.GET_KVLIST_BY_NAMESPACE, {"namespace": "SSpace"})
    run.ask("namesrv", RequestCode.PUT_KV_CONFIG, item | {"value": "v 1"})
    run.ask("namesrv", RequestCode.PUT_KV_CONFIG, item | {"key": "l", "value": "é"})
    run.ask("namesrv", RequestCode.GET_KV_CONFIG, item)
    run.ask("namesrv", RequestCode.GET_KVLIST_BY_NAMESPACE, {"namespace": "SSpace"})
    run.ask("namesrv", RequestCode.DELETE_KV_CONFIG, item)
    run.ask("namesrv", RequestCode.GET_KV_CONFIG, item)
    run.ask("namesrv", RequestCode.DELETE_KV_CONFIG, item)
    run.ask("namesrv", RequestCode.DELETE_KV_CONFIG, item | {"key": "l"})
    run.note("what is missing")
    run.ask("namesrv", RequestCode.PUT_KV_CONFIG, {"namespace": "SSpace"})
    run.ask("namesrv", RequestCode.GET_KV_CONFIG, {})


@scenario("write permission of a broker: wiped, and given back without INHERIT")
def write_permission(run: Run) -> None:
    topic = run.topic("SWriting", 1, perm=7)
    wiped = {"brokerName": "broker-a"}
    run.note("the count is that of the broker's topics, system topics too")
    run.ask("namesrv", RequestCode.WIPE_WRITE_PERM_OF_BROKER, wiped, hidden=("wipeTopicCount",))
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
    run.ask("namesrv", RequestCode.ADD_WRITE_PERM_OF_BROKER, wiped, hidden=("addTopicCount",))
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
    run.ask("namesrv", RequestCode.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "SNobody"})
    run.ask("namesrv", RequestCode.ADD_WRITE_PERM_OF_BROKER, {"brokerName": "SNobody"})


@scenario("unknown codes: a name server is silent, a broker says so", releases=ENDS_ON_FOUR)
def unknown_codes(run: Run) -> None:
    pending = run.send("namesrv", 9999)
    run.note("the next request on the same connection is answered")
    run.ask("namesrv", RequestCode.GET_KVLIST_BY_NAMESPACE, {"namespace": "SNone"})
    pending.no_answer()
    run.send("namesrv", RequestCode.PULL_MESSAGE, peer="lost").no_answer()
    run.ask("broker-a", 9999)
    run.ask("broker-a vip", 9999)
    run.note("known to 4.9.7 by name and handled nowhere")
    run.ask("broker-a", RequestCode.QUERY_BROKER_OFFSET)
    run.ask("broker-a", RequestCode.GET_TOPIC_CONFIG_LIST)
