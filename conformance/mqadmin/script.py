"""Which sub-commands of mqadmin run, with which options, in which order.

Words in braces are known to the session: the addresses ``{namesrv}``, ``{broker-a}``,
``{broker-b}``, ``{broker-a-1}``; the folder ``{home}``; ``{id NAME}`` and ``{key NAME}``, the
offset id and the unique key of a seeded message; ``{consumer}``, the consumer's client id; and what
an earlier step has kept. Every sub-command gets ``-n {namesrv}`` as its last option.
"""

# Over 400 lines: one list of calls, in the order in which they run.
from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from conformance.mqadmin.letters import (
    BLUE,
    BROADCAST,
    DEAD,
    EMPTY,
    FAILING,
    LETTERS,
    LEVEL_QUEUE,
    MIXED,
    letters,
)
from conformance.mqadmin.state import (
    CLUSTER,
    OFFLINE,
    ONLINE,
    ORDERS,
    PRODUCER,
    Contents,
    only_accounts,
    orders,
    slave_in_step,
)
from conformance.targets.accounts import ADMIN, USER
from conformance.targets.java_jars import REFERENCE


class Step(NamedTuple):
    """One call of mqadmin."""

    line: str
    """The sub-command and its options, as in a shell."""
    unordered: bool = False
    """Whether it prints the elements of a hash table: lines are sorted."""
    most_lines: int = 0
    """For a sub-command that prints for ever: after how many lines it is interrupted."""
    until: str = ""
    """Called again until its output has this text: what another thread of a broker does first."""
    keeps: Mapping[str, str] = {}
    """Word for later steps → regular expression whose group it is."""
    hides: Mapping[str, str] = {}
    """Regular expression → text in its place, for what differs from run to run here only."""
    files: tuple[str, ...] = ()
    """Files below ``{home}`` that it has to write, in JSON; they are part of its output."""
    account: str | None = None
    """The account whose keys it and later steps sign with; None: as before."""


class Part(NamedTuple):
    """Steps that share a cluster."""

    name: str
    """The name of its recording."""
    config: Mapping[str, str]
    """The config of its brokers."""
    contents: Contents
    """What its cluster has before."""
    steps: tuple[Step, ...]
    slaves: int = 0
    """With one, it runs on a master and its slave, else on two masters."""
    reference: str = REFERENCE
    """The release of mqadmin, and of its cluster."""
    controllers: int = 0
    """How many elect the master of ``replicas``."""
    replicas: int = 0
    """How many replicas of broker-a there are; with controllers, there are no other brokers."""


_RT = {r"\b\d+$": "<ms>", r"(Avg RT:).*": r"\1 <ms>"}
_LOAD = {
    r"\d+\.\d\d\(\d+,\d+ms\) +\d+\.\d\d\(\d+,\d+ms\) +\d+ ": "<load> ",
    r"\b0\.\d\d +0\.\d{4}$": "<hours> <full>",
    r"\b[45]\d{5}\.\d\d +0\.\d{4}$": "<since 1970> <full>",
}
_ATTACHED = {r"\b((?:msgPutTotalTodayNow|putMessageTimesTotal) *:).*": r"\1 <of this run>"}
"""A slave is there when messages are safe there; how many are sent until then is by chance."""
_PLACE = {r"physicOffset=\d+": "physicOffset=<place>"}
HIDDEN_STATS = {
    r"( +\d+\.\d\d){2} +\d+ +\d+$": " <of this run>",
    r" +\d+\.\d\d +\d+ +NO_CONSUMER": " <of this run> NO_CONSUMER",
}

TOPICS = (
    Step(f"updateTopic -c {CLUSTER} -t MPlain -r 2 -w 2", unordered=True),
    Step("updateTopic -b {broker-a} -t MSingle -r 1 -w 1"),
    Step("updateTopic -b {broker-a} -t MOrdered -r 4 -w 4 -o true"),
    Step(f"updateTopic -c {CLUSTER} -t MUnit -r 1 -w 1 -u true -s true -p 4", unordered=True),
    Step(f"updateTopic -c {CLUSTER} -t MUnit -r 1 -w 1 -p 6 -o true", unordered=True),
    Step("updateTopic -c NoSuchCluster -t MNowhere"),
    Step("updateTopic -b {broker-a} -t M$bad"),
    Step("updateTopic -b {broker-a} -t TBW102"),
    Step("updateTopicPerm -b {broker-a} -t MPlain -p 4"),
    Step("updateTopicPerm -b {broker-a} -t MPlain -p 4"),
    Step(f"updateTopicPerm -c {CLUSTER} -t MPlain -p 6", unordered=True),
    Step("updateTopicPerm -b 127.0.0.1:1 -t MPlain -p 6"),
    Step("updateTopicPerm -b {broker-a} -t MNowhere -p 6"),
    Step("topicRoute -t MPlain", unordered=True),
    Step("topicRoute -t MPlain -l"),
    Step("topicRoute -t MNowhere"),
    Step(f"topicStatus -t {ORDERS}"),
    Step("topicStatus -t MPlain"),
    Step("topicStatus -t MNowhere"),
    Step("topicList", unordered=True),
    Step("topicList -c", unordered=True),
    Step(f"topicClusterList -t {ORDERS}"),
    Step("topicClusterList -t MNowhere"),
    Step("allocateMQ -t MPlain -i 10.0.0.1,10.0.0.2,10.0.0.3"),
    Step("allocateMQ -t MNowhere -i 10.0.0.1"),
    Step("updateOrderConf -t MOrdered -m get"),
    Step("updateOrderConf -t MOrdered -m put -v broker-a:4;broker-b:2"),
    Step("updateOrderConf -t MOrdered -m get"),
    Step("updateOrderConf -t MOrdered -m delete"),
    Step("updateOrderConf -t MOrdered -m get"),
    Step("updateOrderConf -t MOrdered -m change"),
)
GROUPS = (
    Step(
        f"updateSubGroup -c {CLUSTER} -g GMade -s true -m false -d true -q 2 -r 3"
        " -i 0 -w 1 -a true",
        unordered=True,
    ),
    Step("updateSubGroup -b {broker-b} -g GMade -s false -q 4"),
    Step("getConsumerConfig -g GMade", unordered=True),
    Step("getConsumerConfig -g GNowhere"),
    Step("updateSubGroup -b {broker-a} -g G$bad"),
    Step("deleteSubGroup -b {broker-b} -g GMade -r true"),
    Step("getConsumerConfig -g GMade"),
    Step(f"deleteSubGroup -c {CLUSTER} -g GMade", unordered=True),
    Step("deleteSubGroup -b {broker-a} -g GNowhere"),
)
MESSAGES = (
    Step("queryMsgById -i {id order-0}"),
    Step("queryMsgById -i {id order-0},{id order-1}"),
    Step("queryMsgById -i 7F00000100002A9F00000000FFFFFFFF"),
    Step(f"queryMsgById -i {{id order-1}} -g {ONLINE} -d {{consumer}}"),
    Step(f"queryMsgById -i {{id order-1}} -g {OFFLINE} -d {{consumer}}"),
    Step(f"queryMsgByKey -t {ORDERS} -k k1", unordered=True),
    Step(f"queryMsgByKey -t {ORDERS} -k nothing"),
    Step("queryMsgByKey -t MNowhere -k k1"),
    Step(f"queryMsgByUniqueKey -t {ORDERS} -i {{key order-2}}"),
    Step(f"queryMsgByUniqueKey -t {ORDERS} -i {{key order-2}} -a"),
    Step(f"queryMsgByUniqueKey -t {ORDERS} -i {{key order-2}} -g {ONLINE} -d {{consumer}}"),
    Step(f"queryMsgByUniqueKey -t {ORDERS} -i 7F0000010000000000000000000FFFFF"),
    Step(f"queryMsgByOffset -t {ORDERS} -b broker-a -i 0 -o 1"),
    Step(f"queryMsgByOffset -t {ORDERS} -b broker-a -i 0 -o 100"),
    Step("topicStatus -t OFFSET_MOVED_EVENT"),
    Step(f"queryMsgByOffset -t {ORDERS} -b broker-x -i 0 -o 0"),
    Step(f"printMsg -t {ORDERS}"),
    Step(f"printMsg -t {ORDERS} -s red -d false -c UTF-8"),
    Step(f"printMsg -t {ORDERS} -b 2020-01-01#00:00:00:000 -e 2020-01-02#00:00:00:000"),
    Step("printMsg -t MNowhere"),
    Step(f"printMsgByQueue -t {ORDERS} -a broker-a -i 0 -p true -d true -f true"),
    Step(f"printMsgByQueue -t {ORDERS} -a broker-b -i 1 -s red -b 0 -e 9999999999999 -p true"),
    Step(f"printMsgByQueue -t {ORDERS} -a broker-a -i 9 -p true -c UTF-8"),
    Step(f"consumeMessage -t {ORDERS} -b broker-a -i 0"),
    Step(f"consumeMessage -t {ORDERS} -b broker-a -i 0 -o 1 -c 1 -g GTools"),
    Step(f"consumeMessage -t {ORDERS} -b broker-a -i 0 -o 9"),
    Step(f"consumeMessage -t {ORDERS} -s 2020-01-01#00:00:00:000 -c 3"),
    Step(f"consumeMessage -t {ORDERS} -b broker-a -i 1 -s 0 -e 2020-01-01#00:00:00:000"),
    Step(f"consumeMessage -t {ORDERS} -i 0"),
    Step(f"consumeMessage -t {ORDERS} -c 0"),
    Step(f"queryCq -t {ORDERS} -q 0 -i 0 -c 2 -b {{broker-a}}"),
    Step(f"queryCq -t {ORDERS} -q 0 -i 1 -b {{broker-a}} -g {ONLINE}"),
    Step(f"queryCq -t {ORDERS} -q 8 -i 0 -b {{broker-a}}"),
    Step(f"queryCq -t {ORDERS} -q 9 -i 0 -b {{broker-a}}"),
    Step(f"queryCq -t {ORDERS} -q 0 -i 100 -b {{broker-a}}"),
    Step("sendMessage -t MSingle -p hello -k one -c red -b broker-a -i 0"),
    Step("sendMessage -t MSingle -p hello -i 0"),
    Step("sendMessage -t MSingle -p hello -b broker-x -i 0"),
    Step("queryMsgById -i {id solo} -s true"),
    Step("queryMsgById -i {id solo} -s true -u unit"),
)
CONNECTIONS = (
    Step(f"producerConnection -g {PRODUCER} -t {ORDERS}"),
    Step(f"producerConnection -g GNowhere -t {ORDERS}"),
    Step("producer -b {broker-a}", hides={r"group \(\d+\)": "group (<id>)"}),
    Step(f"consumerConnection -g {ONLINE}"),
    Step(f"consumerConnection -g {ONLINE} -b {{broker-b}}"),
    Step(f"consumerConnection -g {OFFLINE}"),
    Step(f"consumerProgress -g {ONLINE}"),
    Step(f"consumerProgress -g {ONLINE} -s true"),
    Step(f"consumerProgress -g {OFFLINE}"),
    Step("consumerProgress -g GNowhere"),
    Step("consumerProgress", unordered=True),
    Step(f"consumerStatus -g {ONLINE}"),
    Step(
        f"consumerStatus -g {ONLINE} -i {{consumer}}",
        hides={r"( +\d+\.\d\d){5} +(\d+)$": r" <of this run> \2"},
    ),
    Step(f"consumerStatus -g {ONLINE} -s -b {{broker-a}}"),
    Step(f"consumerStatus -g {ONLINE} -i nothing"),
    Step(f"consumerStatus -g {OFFLINE}"),
)
OFFSETS = (
    Step(f"cloneGroupOffset -s {OFFLINE} -d GCloned -t {ORDERS} -o true"),
    Step("consumerProgress -g GCloned"),
    Step(f"cloneGroupOffset -s GNowhere -d GCloned -t {ORDERS}"),
    Step(f"resetOffsetByTime -g {OFFLINE} -t {ORDERS} -s 0", unordered=True),
    Step(f"consumerProgress -g {OFFLINE}"),
    Step(f"skipAccumulatedMessage -g {OFFLINE} -t {ORDERS}", unordered=True),
    Step(f"skipAccumulatedMessage -g {OFFLINE} -t {ORDERS} -f false", unordered=True),
    Step(f"consumerProgress -g {OFFLINE}"),
    Step(f"resetOffsetByTime -g {ONLINE} -t {ORDERS} -s now -f false", unordered=True),
    Step(f"resetOffsetByTime -g {ONLINE} -t {ORDERS} -s 2020-01-01#00:00:00:000", unordered=True),
    Step(f"skipAccumulatedMessage -g {ONLINE} -t {ORDERS}", unordered=True),
    Step(f"resetOffsetByTime -g {OFFLINE} -t {ORDERS} -s now -c", unordered=True),
    Step(f"resetOffsetByTime -g {OFFLINE} -t MNowhere -s now"),
)
BROKERS = (
    Step("clusterList", hides=_LOAD),
    Step("clusterList -m", hides={r" +\d+$": " <sum>"}),
    Step("clusterList -i 1", most_lines=3, hides=_LOAD),
    Step("brokerStatus -b {broker-a}"),
    Step(f"brokerStatus -c {CLUSTER}", unordered=True),
    Step("brokerStatus -c NoSuchCluster"),
    Step("brokerStatus -b 127.0.0.1:1"),
    Step("brokerConsumeStats -b {broker-a} -t 5000 -o false", unordered=True),
    Step("brokerConsumeStats -b {broker-a} -l 2", unordered=True),
    Step("brokerConsumeStats -b {broker-a} -o true", unordered=True),
    Step("getBrokerConfig -b {broker-a}", unordered=True),
    Step(f"getBrokerConfig -c {CLUSTER}", unordered=True),
    Step("updateBrokerConfig -b {broker-a} -k fileReservedTime -v 48"),
    Step(f"updateBrokerConfig -c {CLUSTER} -k fileReservedTime -v 24", unordered=True),
    Step("updateBrokerConfig -b {broker-a} -k noSuchKey -v 24"),
    Step("updateBrokerConfig -b {broker-a} -k fileReservedTime -v many"),
    Step("cleanExpiredCQ -b {broker-a}"),
    Step(f"cleanExpiredCQ -c {CLUSTER}"),
    Step("cleanExpiredCQ -c NoSuchCluster"),
    Step("cleanUnusedTopic -b {broker-a}"),
    Step(f"cleanUnusedTopic -c {CLUSTER}"),
    Step("deleteExpiredCommitLog -b {broker-a}"),
    Step(f"deleteExpiredCommitLog -c {CLUSTER}"),
    Step(f"statsAll -t {ORDERS}", unordered=True, hides=HIDDEN_STATS),
    Step(f"statsAll -a -t {ORDERS}", unordered=True, until=ONLINE, hides=HIDDEN_STATS),
    Step("statsAll", unordered=True, hides=HIDDEN_STATS),
)
NAME_SERVERS = (
    Step("getNamesrvConfig", unordered=True),
    Step("updateNamesrvConfig -k clusterTest -v true"),
    Step("getNamesrvConfig", unordered=True),
    Step("updateNamesrvConfig -k clusterTest -v false"),
    Step("updateNamesrvConfig -k kvConfigPath -v /tmp/elsewhere"),
    Step("updateKvConfig -s MSpace -k one -v 1"),
    Step("deleteKvConfig -s MSpace -k one"),
    Step("deleteKvConfig -s MSpace -k nothing"),
    Step("wipeWritePerm -b broker-a"),
    Step("topicRoute -t MPlain -l"),
    Step("addWritePerm -b broker-a"),
    Step("topicRoute -t MPlain -l"),
    Step("wipeWritePerm -b broker-x"),
    Step("addWritePerm -b broker-x"),
)
EXPORTS = (
    Step(f"exportConfigs -c {CLUSTER} -f {{home}}/export", files=("export/configs.json",)),
    Step(f"exportMetadata -c {CLUSTER} -f {{home}}/export", files=("export/metadata.json",)),
    Step(f"exportMetadata -c {CLUSTER} -t -f {{home}}/export", files=("export/topic.json",)),
    Step(
        f"exportMetadata -c {CLUSTER} -g -f {{home}}/export",
        files=("export/subscriptionGroup.json",),
    ),
    Step("exportMetadata -b {broker-a} -t -f {home}/export", files=("export/topic.json",)),
    Step("exportMetadata -b {broker-a} -t -s -f {home}/export", files=("export/topic.json",)),
    Step(
        "exportMetadata -b {broker-a} -g -f {home}/export",
        files=("export/subscriptionGroup.json",),
    ),
    Step(f"exportMetrics -c {CLUSTER} -f {{home}}/export", files=("export/metrics.json",)),
)
TRAFFIC = (
    Step("checkMsgSendRT -t MPlain -a 4 -s 10", unordered=True, hides=_RT),
    Step(
        "sendMsgStatus -b broker-a -c 2 -s 10",
        hides={r"rt=\d+ms": "rt=<ms>", r"queueId=\d+|queueOffset=\d+": "<queue>"},
    ),
    Step(
        f"clusterRT -c {CLUSTER} -a 2 -s 10 -i 1",
        most_lines=3,
        hides={r"\d+\.\d\d": "<ms>"},
    ),
    Step(
        f"clusterRT -c {CLUSTER} -a 2 -s 10 -i 1 -p true -m here",
        most_lines=2,
        hides={r"\|\d+$": "|<ms>"},
    ),
    Step("clusterRT -c NoSuchCluster -a 2 -i 1", most_lines=2),
)
# Traces go to any broker: not before brokers are asked how many messages they have.
TRACES = (
    Step(
        "sendMessage -t MSingle -p traced -m true",
        keeps={"traced": r"SEND_OK +(\S+)"},
    ),
    Step(
        "queryMsgTraceById -i {traced}",
        until="Pub",
        hides={r"(Pub +)\S+ +\S+ +(<date>) +\S+ms": r"\1<group> <host> \2 <ms>"},
    ),
    Step("queryMsgTraceById -i {key order-0}"),
    Step("queryMsgTraceById -i {key order-0} -t MNowhere"),
)
LAST = (
    Step(f"deleteTopic -t MPlain -c {CLUSTER}"),
    Step("topicRoute -t MPlain"),
    Step("deleteTopic -t MNowhere -c NoSuchCluster"),
    Step("startMonitoring"),
    Step("consumerConnection -g __MONITOR_CONSUMER", until="OFFSET_MOVED_EVENT"),
    Step("@monitor {namesrv}"),
)
ACCOUNTS = (
    Step("brokerStatus -b {broker-a}", account=""),
    Step(f"getAclConfig -c {CLUSTER}"),
    Step("updateTopic -b {broker-a} -t MMine -r 1 -w 1", account=USER),
    Step("clusterAclConfigVersion -b {broker-a}"),
    Step("updateTopic -b {broker-a} -t MMine -r 1 -w 1", account=ADMIN),
    Step("clusterAclConfigVersion -b {broker-a}"),
    Step(f"clusterAclConfigVersion -c {CLUSTER}", unordered=True),
    Step("getAclConfig -b {broker-a}"),
    Step(f"getAclConfig -c {CLUSTER}"),
    Step(
        "updateAclConfig -b {broker-a} -a newaccount -s 12345678 -m false -i DENY -u SUB"
        " -t MMine=PUB|SUB,MOther=DENY -g GMine=SUB -w 10.0.0.*"
    ),
    Step("getAclConfig -b {broker-a}"),
    Step("clusterAclConfigVersion -b {broker-a}"),
    Step(f"updateAclConfig -c {CLUSTER} -a newaccount -s 87654321", unordered=True),
    Step("updateAclConfig -b {broker-a} -a short -s 12345678"),
    Step("updateAclConfig -b {broker-a} -a longenough -s short"),
    Step("updateAclConfig -b {broker-a} -a newaccount -s 12345678 -t MMine=ALL"),
    Step(f"deleteAclConfig -c {CLUSTER} -a newaccount", unordered=True),
    Step("deleteAclConfig -b {broker-a} -a newaccount"),
    Step("deleteAclConfig -b {broker-a} -a locallocal"),
    Step("updateGlobalWhiteAddr -b {broker-a} -g 10.10.103.*,192.168.0.*"),
    Step(f"updateGlobalWhiteAddr -c {CLUSTER} -g 10.10.103.*", unordered=True),
    Step("updateGlobalWhiteAddr -b {broker-a} -g 10.10.* -p /nowhere/plain_acl.yml"),
    Step("getAclConfig -b {broker-a}"),
    Step("brokerStatus -b {broker-b}"),
)
REPLICAS = (
    Step("clusterList", hides=_LOAD),
    Step("brokerStatus -b {broker-a-1}", hides=_ATTACHED),
    Step(f"brokerStatus -c {CLUSTER}", unordered=True, hides=_ATTACHED),
    Step("getBrokerConfig -b {broker-a-1}", unordered=True),
    Step(f"exportConfigs -c {CLUSTER} -f {{home}}/export", files=("export/configs.json",)),
    Step(f"updateTopic -c {CLUSTER} -t MCopied -r 1 -w 1"),
    Step("topicRoute -t MCopied -l"),
    Step("topicRoute -t MCopied", unordered=True),
    Step("updateTopicPerm -b {broker-a-1} -t MCopied -p 4"),
    Step("updateTopic -b {broker-a-1} -t MAtSlave -r 1 -w 1"),
    Step("topicStatus -t MCopied"),
    Step("sendMessage -t MCopied -p hello -b broker-a -i 0"),
    Step("queryCq -t MCopied -q 0 -i 0 -b {broker-a-1}", until="max: 1", hides=_PLACE),
    Step(f"updateSubGroup -c {CLUSTER} -g GCopied"),
    Step("getConsumerConfig -g GCopied"),
    Step(f"deleteSubGroup -c {CLUSTER} -g GCopied"),
    Step("updateBrokerConfig -b {broker-a-1} -k fileReservedTime -v 48"),
    Step(f"cleanExpiredCQ -c {CLUSTER}"),
    Step(f"cleanUnusedTopic -c {CLUSTER}"),
    Step(f"deleteExpiredCommitLog -c {CLUSTER}"),
    Step("producer -b {broker-a-1}"),
    Step("brokerConsumeStats -b {broker-a-1}", unordered=True),
    Step(f"deleteTopic -t MCopied -c {CLUSTER}"),
)

LETTER_STEPS = (
    Step("topicList", unordered=True),
    Step("topicStatus -t RMQ_SYS_TRANS_HALF_TOPIC"),
    Step(f"printMsgByQueue -t SCHEDULE_TOPIC_XXXX -a broker-a -i {LEVEL_QUEUE} -p true -d true"),
    Step("printMsgByQueue -t RMQ_SYS_TRANS_HALF_TOPIC -a broker-a -i 0 -p true -d true"),
    Step("queryMsgById -i {id later}"),
    Step("queryMsgById -i {id plain}"),
    Step(f"queryMsgByKey -t {LETTERS} -k later"),
    Step(f"queryMsgByUniqueKey -t {LETTERS} -i {{key later}}"),
    Step(f"queryMsgByUniqueKey -t {LETTERS} -i {{key plain}}"),
    Step(f"topicRoute -t {DEAD} -l"),
    Step(f"topicStatus -t {DEAD}"),
    Step(f"printMsg -t {DEAD}"),
    Step(f"updateTopicPerm -b {{broker-a}} -t {DEAD} -p 6"),
    Step(f"printMsg -t {DEAD}"),
    Step(f"consumeMessage -t {DEAD} -b broker-a -i 0"),
    Step(f"consumerProgress -g {FAILING}"),
    Step(f"consumerProgress -g {BLUE}"),
    # What a group subscribes to is what any of its members has said last.
    Step(
        f"consumerConnection -g {MIXED}",
        unordered=True,
        until="mixed-2",
        hides={f"{EMPTY} +(?:red|blue)": f"{EMPTY} <of a member>"},
    ),
    Step(f"consumerStatus -g {MIXED}", unordered=True),
    Step(f"consumerConnection -g {BROADCAST}"),
    Step(f"consumerProgress -g {BROADCAST}"),
    Step(f"consumerStatus -g {BROADCAST}"),
    Step(f"resetOffsetByTime -g {BROADCAST} -t {LETTERS} -s 0", unordered=True),
    Step("consumerProgress", unordered=True),
    Step("brokerStatus -b {broker-a}"),
    Step(f"updateTopic -b {{broker-a}} -t {LETTERS} -r 1 -w 1 -o true"),
    Step("brokerConsumeStats -b {broker-a} -o true", unordered=True),
    Step("brokerConsumeStats -b {broker-a}", unordered=True),
    Step("statsAll", unordered=True, hides=HIDDEN_STATS),
    Step(f"updateSubGroup -b {{broker-a}} -g {BLUE} -s false"),
    Step(f"getConsumerConfig -g {BLUE}"),
    Step(f"deleteSubGroup -b {{broker-a}} -g {FAILING} -r true"),
    Step(f"deleteSubGroup -c {CLUSTER} -g {FAILING} -r true", unordered=True),
    Step(f"consumerProgress -g {FAILING}"),
    Step(f"topicRoute -t {DEAD}"),
    Step("exportMetrics -c DefaultCluster -f {home}/export", files=("export/metrics.json",)),
)

PARTS = (
    Part(
        "open",
        {"traceTopicEnable": "true"},
        orders,
        (
            *(*TOPICS, *GROUPS, *MESSAGES, *CONNECTIONS, *OFFSETS),
            *(*BROKERS, *NAME_SERVERS, *EXPORTS, *TRAFFIC, *TRACES, *LAST),
        ),
    ),
    Part("letters", {"transactionCheckInterval": "600000"}, letters, LETTER_STEPS),
    Part("replicas", {"brokerRole": "SYNC_MASTER"}, slave_in_step, REPLICAS, slaves=1),
    Part("accounts", {"aclEnable": "true"}, only_accounts, ACCOUNTS),
)


def options_used() -> dict[str, set[str]]:
    """Return the options of each sub-command that the script has, without dashes."""
    used: dict[str, set[str]] = {}
    for part in PARTS:
        for step in part.steps:
            name, *words = step.line.split()
            if not name.startswith("@"):
                options = {word[1] for word in words if re.fullmatch("-[a-zA-Z]", word)}
                used.setdefault(name, set()).update(options)
    return used
