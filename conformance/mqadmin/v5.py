"""The calls of mqadmin 5.5.0 that show what only 5.5.0 has: attributes, POP, retry policies."""

from __future__ import annotations

from conformance.mqadmin.script import HIDDEN_STATS, Part, Step
from conformance.mqadmin.state import CLUSTER, OFFLINE, ONLINE, ORDERS, POPPED, POPPING, pops
from conformance.targets.java_jars import NEWEST

_EXPONENTIAL = (
    '{"type":"EXPONENTIAL","exponentialRetryPolicy":{"initial":5000,"max":7200000,"multiplier":2}}'
)
_CUSTOMIZED = '{"type":"CUSTOMIZED","customizedRetryPolicy":{"next":[1000,5000,10000]}}'
LOAD = {
    r"\d+\.\d\d\(\d+,\d+ms\) +\d+\.\d\d\(\d+,\d+ms\|\d+,\d+ms\) ": "<load> ",
    r"\b0\.\d\d +0\.\d{4}\b": "<hours> <full>",
    # How far a real broker is behind with the time and with the records of its timer topic.
    r"\b\d+-\d+(\(\d+\.\dw, )": r"<behind>\1",
}
_OWN_RECORDS = {r"\b(timerCongestNum)\b( *: *).*": r"\1\2<own records>"}
"""Records of POP: a real broker keeps them in the timer topic first."""
_TOPICS = (
    Step(f"updateTopic -c {CLUSTER} -t LFifo -r 2 -w 2 -a +message.type=FIFO", unordered=True),
    Step("updateTopic -b {broker-a} -t LFifo -a +message.type=DELAY"),
    Step("updateTopic -b {broker-a} -t LFifo -a +cleanup.policy=COMPACTION"),
    Step("updateTopic -b {broker-a} -t LFifo -a -message.type"),
    Step("updateTopic -b {broker-a} -t LOdd -r 1 -w 1 -a +no.such=1"),
    Step("updateTopic -b {broker-a} -t LOdd -r 1 -w 1 -a +message.type=NONSENSE"),
    Step("updateTopic -b {broker-a} -t LOdd -r 1 -w 1 -a nonsense"),
    Step("updateTopic -b {broker-a} -t L$bad -r 1 -w 1"),
    Step("topicRoute -t LFifo", unordered=True),
    Step("topicRoute -t LNowhere"),
    Step("topicStatus -t LFifo"),
    Step(f"topicStatus -t {ORDERS}"),
    Step(f"topicStatus -t {POPPED}"),
    Step("topicStatus -t LNowhere"),
    Step("topicList", unordered=True),
    Step(f"topicClusterList -t {ORDERS}"),
)
_GROUPS = (
    Step(
        f"updateSubGroup -c {CLUSTER} -g GLater -s true -m false -d true -o true -q 2 -r 3"
        f" -i 0 -w 1 -a true -p '{_EXPONENTIAL}'",
        unordered=True,
    ),
    Step("getConsumerConfig -g GLater", unordered=True),
    Step(f"updateSubGroup -b {{broker-a}} -g GLater -r 5 -p '{_CUSTOMIZED}'"),
    Step('updateSubGroup -b {broker-a} -g GLater -r 5 -p \'{"type":"NONSENSE"}\''),
    Step("updateSubGroup -b {broker-a} -g GLater --attributes +priority.factor=30"),
    Step("updateSubGroup -b {broker-a} -g GLater --attributes +no.such=1"),
    Step("updateSubGroup -b {broker-a} -g G$bad"),
    Step("getConsumerConfig -g GLater", unordered=True),
    Step("getConsumerConfig -g GNowhere"),
    Step(f"deleteSubGroup -c {CLUSTER} -g GLater -r true", unordered=True),
)
_MODES = (
    Step(f"setConsumeMode -c {CLUSTER} -t {POPPED} -g {POPPING} -m POP -q 4", unordered=True),
    Step(f"setConsumeMode -b {{broker-a}} -t {POPPED} -g {POPPING} -m PULL"),
    Step(f"setConsumeMode -b {{broker-a}} -t {POPPED} -g {POPPING} -m NONSENSE"),
    Step(f"setConsumeMode -b {{broker-a}} -t LNowhere -g {POPPING} -m POP"),
    Step(f"setConsumeMode -b {{broker-a}} -t {POPPED} -g GNowhere -m POP"),
    Step(f"setConsumeMode -b {{broker-a}} -t %RETRY%{POPPING} -g {POPPING} -m POP"),
)
_PROGRESS = (
    Step(f"consumerProgress -g {POPPING}"),
    Step(f"consumerProgress -g {POPPING} -t {POPPED}"),
    Step(f"consumerProgress -g {ONLINE}"),
    Step(f"consumerProgress -g {OFFLINE}"),
    Step("consumerProgress -g GNowhere"),
    Step("consumerProgress", unordered=True),
    Step(f"consumerConnection -g {ONLINE}"),
    Step(f"consumerConnection -g {POPPING}"),
    Step(f"producerConnection -g GProducer -t {ORDERS}"),
)
_OFFSETS = (
    Step(f"resetOffsetByTime -g {OFFLINE} -t {ORDERS} -s 0", unordered=True),
    Step(f"resetOffsetByTime -g {POPPING} -t {POPPED} -s 0", unordered=True),
    Step(f"resetOffsetByTime -g {POPPING} -t {POPPED} -s now -b {{broker-a}} -q 0"),
    Step(f"resetOffsetByTime -g {POPPING} -t {POPPED} -s now -b {{broker-a}} -q 0 -o 1"),
    Step(f"resetOffsetByTime -g {POPPING} -t {POPPED} -s now -b {{broker-a}} -q 7 -o 1"),
    Step(f"resetOffsetByTime -g {OFFLINE} -t LNowhere -s now"),
    Step("resetOffsetByTime -g GNowhere -t MOrders -s now", unordered=True),
    Step(f"consumerProgress -g {OFFLINE}"),
    Step(f"cloneGroupOffset -s {OFFLINE} -d GCloned -t {ORDERS} -o true"),
    Step("consumerProgress -g GCloned"),
    Step(f"skipAccumulatedMessage -g {OFFLINE} -t {ORDERS}", unordered=True),
)
_MESSAGES = (
    Step(f"queryMsgById -t {ORDERS} -i {{id order-0}}"),
    Step(f"queryMsgByKey -t {ORDERS} -k k1", unordered=True),
    Step(f"queryMsgByKey -t {ORDERS} -k nothing"),
    Step(f"queryMsgByUniqueKey -t {ORDERS} -i {{key order-2}}"),
    Step(f"queryMsgByOffset -t {ORDERS} -b broker-a -i 0 -o 0"),
    Step(f"queryMsgByOffset -t {ORDERS} -b broker-a -i 0 -o 99"),
    Step(f"queryCq -t {ORDERS} -q 0 -i 0 -c 2 -b {{broker-a}} -g {ONLINE}"),
)
_BROKERS = (
    Step("clusterList", hides=LOAD),
    Step("clusterList -m", hides={r" +\d+$": " <sum>"}),
    Step("brokerStatus -b {broker-a}", hides=_OWN_RECORDS),
    Step("brokerConsumeStats -b {broker-a} -t 5000 -o false", unordered=True),
    Step("getNamesrvConfig", unordered=True),
    Step(f"statsAll -t {ORDERS}", unordered=True, hides=HIDDEN_STATS),
    Step("wipeWritePerm -b broker-a"),
    Step("topicRoute -t LFifo", unordered=True),
    Step("addWritePerm -b broker-a"),
    Step(f"deleteTopic -c {CLUSTER} -t LFifo"),
)
V5 = Part(
    "v5",
    {},
    pops,
    (*_TOPICS, *_GROUPS, *_MODES, *_PROGRESS, *_OFFSETS, *_MESSAGES, *_BROKERS),
    reference=NEWEST,
)
