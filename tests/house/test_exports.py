"""The public surface: names that users import. Everything else is internal.

A name that is added here is a promise; one that is removed breaks programs.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

import fakemq

PUBLIC = {
    "fakemq": """
        AsyncCluster Cluster ConfigError FakemqError NotYetSupported RequestCode
        ResponseCode WaitTimeout
    """,
    "fakemq.client": """
        AllocateStrategy AsyncCheck AsyncClient AsyncExecute AsyncLitePullConsumer
        AsyncProducer AsyncPullConsumer AsyncPullScheduling AsyncPullTask AsyncPushConsumer
        AsyncScheduledPulling BatchOptions Check Client Committing ConsumeFrom ConsumeResult
        ConsumeStatus Execute LanguageCode LitePullConsumer LocalTransactionState
        MQBrokerError MQClientError Message MessageExt MessageModel MessageQueue
        MessageQueueListener OnMessage OnMessages OnewayOptions Producer PullConsumer
        PullResult PullScheduling PullStatus PullTask PullTaskContext Pulled PushConsumer
        QueueListener ReceivedMessage RemotingError RequestTimeoutError SQL ScheduledPulling
        Selector SendOptions SendResult SendStatus SerializeType ServiceState Subscribe
        TransactionSendResult create_reply_message
    """,
    "fakemq.client.consuming.allocation": """
        AllocateStrategy MachineRoomResolver Strategy averagely averagely_by_circle
        by_config by_machine_room by_name consistent_hash machine_room_nearby strategy_name
    """,
    "fakemq.events": """
        AccessRefused Acknowledged AnswerWithheld AppendRefused BrokerGone BrokerOnline
        BrokerRegistered MinBrokerChanged
        ChangesLost ClockMoved ClockSkewed CommitIgnored DeadLettered Delivered DifferenceEnded
        Dispatched EpochBegun Escaped Event FaultHit FaultPlaced FaultRemoved FilesExpired
        FilterChanged
        FlowControlled GroupChanged HalfStored HandleRenewed HandlerFailed InSyncSetProposed
        InSyncSetTaken InvisibleTimeChanged KvConfigPrinted LinkClosed LinkOpened LogAppended
        LogTruncated MemberChanged
        MessageChecked MetadataSynchronized NodeStarted NodeStopped OffsetCommitted OffsetReset
        OffsetWentBack OrphanAsked PassedOver Popped PullHeld PullMoved PullWoken QueuesLocked
        ReplicaStateChanged Replicated ReplicationWaited ReplyFailed ReportBelieved
        RequestHandled RequestReceived
        Revived RoleChanged RouteRefused RoutineSkipped RpcHandled RpcReceived Scheduled
        ScheduledDelivered ScheduledDiscarded SentBack SlaveReported SnapshotRestored StoreRecovered
        StoreRepaired SubscriptionsDiffer TagCollided TimerDelivered TimerDiscarded
        TimerRecalled TimerRolled TimerSet TopicChanged TransactionChecked
        TransactionDiscarded TransactionEnded Transferred UnsyncedLost Warned
        ControllerDeposed ControllerElected MasterElected ReplicaInactive ReplicaJoined ReplicaMoved
        ReplicasCleaned SyncStateSetChanged
        AlsoQueued LiteSubscribed LiteTopicExpired LiteUnsubscribed
    """,
    "fakemq.biographies.steps": """
        Acknowledged Checked CommitIgnored Committed CutOff DeadLettered DelayEnded Delayed
        Delivered Discarded Dispatched Dropped Forgotten HalfStored HandedOver InvisibleTimeChanged
        NotReplicated OrderLost PassedOver PopAcknowledged Popped Recalled Replaced Replicated
        Revived RolledBack SentBack SetBack Step Stored TimerEnded TimerRolled TimerSet Withheld
        FurtherQueues LiteTopicEnded lacks_tag ordinal
    """,
    "fakemq.fixtures.factories": """
        rocketmq rocketmq_async rocketmq_freezer rocketmq_noproc rocketmq_proc spark
    """,
    "fakemq.spark": """
        register
    """,
}
"""Module → the names that it defines or re-exports."""

CLUSTER = """
    assert_consumed assert_delivered_once assert_in_dlq assert_not_redelivered
    assert_nothing_sent assert_sent biography broker brokers clock close_clients consumer
    control_url controllers create_topic delayed diagnosis failover faults group group_of
    grpc_addr heal inspect messages name name_server name_servers namesrv_addr partition
    producer proxy queues reset restore run_until running seed seed_value settle snapshot
    start stillness stop tls topic topics
    wait_for
"""


def defined(module: str) -> set[str]:
    """The public names in a module's source: ``X as X``, classes and functions."""
    file = import_module(module).__file__
    assert file is not None
    body = ast.parse(Path(file).read_text(encoding="utf-8")).body
    body += [part for node in body if isinstance(node, ast.If) for part in node.body]
    found: set[str] = set()
    for node in body:
        if isinstance(node, ast.ImportFrom):
            found |= {alias.name for alias in node.names if alias.asname == alias.name}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            found.add(node.name)
    return found


@pytest.mark.parametrize("module", PUBLIC)
def test_exports_are_pinned(module: str) -> None:
    assert defined(module) == set(PUBLIC[module].split())


@pytest.mark.parametrize("module", PUBLIC)
def test_exports_can_be_imported(module: str) -> None:
    home = import_module(module)
    assert all(getattr(home, name) is not None for name in PUBLIC[module].split())


@pytest.mark.parametrize("cluster", [fakemq.Cluster, fakemq.AsyncCluster])
def test_cluster_has_its_public_names(cluster: type) -> None:
    names = {name for name in dir(cluster) if not name.startswith("_")} - {"of"}
    assert names == set(CLUSTER.split())


SPARK = [("audit", ["audit", "Audit", "Summary", "Verdict"]), ("campaign", ["campaign"])]


@pytest.mark.parametrize(("module", "names"), SPARK)
def test_spark_has_its_public_names(module: str, names: list[str]) -> None:
    pytest.importorskip("pyspark")
    home = import_module(f"fakemq.spark.{module}")
    assert all(callable(getattr(home, name)) for name in names)
