"""Config keys of 5.5.0 that refuse requests, at brokers and name servers."""

from __future__ import annotations

from conformance.run import Run
from conformance.scenario import scenario
from conformance.scenarios.popping import FIVE
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.sysflag import PullSysFlag

PULLERS = {"rejectPullConsumerEnable": "true", "maxFilterMessageSize": "60"}
LISTS = (
    RequestCode.GET_TOPICS_BY_CLUSTER,
    RequestCode.GET_UNIT_TOPIC_LIST,
    RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST,
    RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
    RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
)


@scenario("config: keys that no request changes", real_s=1, releases=FIVE)
def black_lists(run: Run) -> None:
    for key in ("brokerConfigPath", "configBlackList", "rocketmqHome"):
        text = f"traceOn=true\n{key}=x".encode()
        run.ask("broker-a", RequestCode.UPDATE_BROKER_CONFIG, {}, text)
    for key in ("configStorePath", "kvConfigPath", "rocketmqHome", "configBlackList"):
        run.ask("namesrv", RequestCode.UPDATE_NAMESRV_CONFIG, {}, f"{key}=x".encode())


@scenario("config: lists and routes that a name server refuses", real_s=1, releases=FIVE)
def name_server_switches(run: Run) -> None:
    topic = run.topic("SSwitched")

    def change(text: bytes) -> None:
        run.ask("namesrv", RequestCode.UPDATE_NAMESRV_CONFIG, {}, text)

    change(b"enableTopicList=false\nenableAllTopicList=false")
    for code in LISTS:
        run.ask("namesrv", code, {"cluster": "DefaultCluster"})
    change(b"enableTopicList=true\nenableAllTopicList=true")
    change(b"needWaitForService=true\nwaitSecondsForService=100000")
    run.ask("namesrv", RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic})
    change(b"needWaitForService=false\nwaitSecondsForService=45")


@scenario("config: consumers that pull are rejected", config=PULLERS, real_s=1, releases=FIVE)
def pull_consumers_rejected(run: Run) -> None:
    topic = run.topic("SRejected")
    run.store(topic, *("tag" for _ in range(8)))
    flag = int(PullSysFlag.SUBSCRIPTION)
    run.note("a group that is not known")
    run.pull(topic, sysFlag=flag, subscription="*")
    run.note("a group of the system; its filter looks at three entries")
    system = "TOOLS_CONSUMER"
    run.pull(topic, sysFlag=flag, subscription="other", consumerGroup=system, maxMsgNums=1)
    run.note("a topic that does not exist")
    run.pull("SNowhere", sysFlag=flag, subscription="*")
