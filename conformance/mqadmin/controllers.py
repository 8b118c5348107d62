"""The calls of mqadmin 5.5.0 about controllers, and about replicas whose master they elect."""

from __future__ import annotations

from conformance.mqadmin.script import Part, Step
from conformance.mqadmin.state import CLUSTER, replicas
from conformance.mqadmin.v5 import LOAD
from conformance.targets.java_jars import NEWEST
from conformance.targets.master_slave_pairs import QUICK_REPORT

AT = "-a {controller-0}"
_GROUP = f"{AT} -bn broker-a"
_HA = {r"\b\d+\.\d\d\b": "<speed>", r"^(memory:\d+|<address>)(?= )": "<slave>"}
"""How fast a log is sent, and where a slave's own end of the connection is."""
_STATE = (
    Step(f"getControllerMetaData {AT}"),
    Step("getControllerMetaData -a 127.0.0.1:1"),
    Step(f"getSyncStateSet {AT} -b broker-a", until="#SyncStateSetNums\t2"),
    Step(f"getSyncStateSet {AT} -c {CLUSTER}"),
    Step(f"getSyncStateSet {AT} -b broker-x"),
    Step(f"getSyncStateSet {AT} -c NoSuchCluster"),
    Step(f"getSyncStateSet {AT}"),
    Step(f"getSyncStateSet {AT} -b broker-a -i 1", most_lines=8),
    Step("getBrokerEpoch -b broker-a", unordered=True),
    Step(f"getBrokerEpoch -c {CLUSTER}", unordered=True),
    Step("getBrokerEpoch -b broker-x"),
    Step("haStatus -b {broker-a@1}", hides=_HA, until=" OK "),
    Step("haStatus -b {broker-a@2}", hides=_HA),
    Step(f"haStatus -c {CLUSTER}", hides=_HA),
    Step("haStatus"),
    Step("clusterList", hides=LOAD),
)
_CONFIG = (
    Step(f"getControllerConfig {AT}", unordered=True),
    Step(f"updateControllerConfig {AT} -k electMasterMaxRetryCount -v 2"),
    Step(f"updateControllerConfig {AT} -k rocketmqHome -v /nowhere"),
    Step(f"updateControllerConfig {AT} -k noSuchKey -v 1"),
    Step(f"getControllerConfig {AT}", unordered=True),
)
_TOPICS = (
    Step(f"updateTopic -c {CLUSTER} -t MElected -r 2 -w 2", unordered=True),
    Step("topicRoute -t MElected", unordered=True),
)
_ELECTIONS = (
    Step(f"electMaster {_GROUP} -c {CLUSTER} -b 1"),
    Step(f"electMaster {_GROUP} -c {CLUSTER} -b 7"),
    Step(f"electMaster {AT} -bn broker-x -c {CLUSTER} -b 1"),
    Step(f"electMaster {_GROUP} -c {CLUSTER} -b 2"),
    Step(f"getSyncStateSet {AT} -b broker-a", until="#SyncStateSetNums\t2"),
    Step("clusterList", hides=LOAD),
    Step("haStatus -b {broker-a@2}", hides=_HA, until=" OK "),
    Step("getBrokerEpoch -b broker-a", unordered=True),
    Step(f"updateTopic -c {CLUSTER} -t MElectedAgain -r 1 -w 1", unordered=True),
    Step("topicRoute -t MElectedAgain", unordered=True),
)
_CLEANING = (
    Step(f"cleanBrokerMetadata {_GROUP}"),
    Step(f"cleanBrokerMetadata {_GROUP} -c {CLUSTER}"),
    Step(f"cleanBrokerMetadata {_GROUP} -c {CLUSTER} -b 1"),
    Step(f"cleanBrokerMetadata {_GROUP} -c {CLUSTER} -b 7"),
    Step(f"cleanBrokerMetadata {_GROUP} -c {CLUSTER} -b one"),
    Step(f"cleanBrokerMetadata {AT} -bn broker-x -c {CLUSTER}"),
    Step(f"cleanBrokerMetadata {_GROUP} -l"),
    Step(f"getSyncStateSet {AT} -b broker-a"),
)
CONTROLLED = Part(
    "controllers",
    {**QUICK_REPORT, "allAckInSyncStateSet": "true", "registerNameServerPeriod": "10000"},
    replicas,
    (*_STATE, *_CONFIG, *_TOPICS, *_ELECTIONS, *_CLEANING),
    reference=NEWEST,
    controllers=1,
    replicas=2,
)
