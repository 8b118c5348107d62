"""Kinds of events in the journal, one class each.

The classes are plain values without behaviour. Each is loaded when its name is first used:
``from fakemq.events import Delivered``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakemq.events.controller import ControllerDeposed as ControllerDeposed
    from fakemq.events.controller import ControllerElected as ControllerElected
    from fakemq.events.controller import MasterElected as MasterElected
    from fakemq.events.controller import ReplicaInactive as ReplicaInactive
    from fakemq.events.controller import ReplicaJoined as ReplicaJoined
    from fakemq.events.controller import ReplicaMoved as ReplicaMoved
    from fakemq.events.controller import ReplicasCleaned as ReplicasCleaned
    from fakemq.events.controller import SyncStateSetChanged as SyncStateSetChanged
    from fakemq.events.core import AccessRefused as AccessRefused
    from fakemq.events.core import AppendRefused as AppendRefused
    from fakemq.events.core import BrokerGone as BrokerGone
    from fakemq.events.core import BrokerOnline as BrokerOnline
    from fakemq.events.core import BrokerRegistered as BrokerRegistered
    from fakemq.events.core import ChangesLost as ChangesLost
    from fakemq.events.core import ClockMoved as ClockMoved
    from fakemq.events.core import ClockSkewed as ClockSkewed
    from fakemq.events.core import CommitIgnored as CommitIgnored
    from fakemq.events.core import DeadLettered as DeadLettered
    from fakemq.events.core import Delivered as Delivered
    from fakemq.events.core import DifferenceEnded as DifferenceEnded
    from fakemq.events.core import Dispatched as Dispatched
    from fakemq.events.core import Event as Event
    from fakemq.events.core import FilesExpired as FilesExpired
    from fakemq.events.core import FilterChanged as FilterChanged
    from fakemq.events.core import GroupChanged as GroupChanged
    from fakemq.events.core import HalfStored as HalfStored
    from fakemq.events.core import HandlerFailed as HandlerFailed
    from fakemq.events.core import KvConfigPrinted as KvConfigPrinted
    from fakemq.events.core import LinkClosed as LinkClosed
    from fakemq.events.core import LinkOpened as LinkOpened
    from fakemq.events.core import LogAppended as LogAppended
    from fakemq.events.core import MemberChanged as MemberChanged
    from fakemq.events.core import MessageChecked as MessageChecked
    from fakemq.events.core import MinBrokerChanged as MinBrokerChanged
    from fakemq.events.core import NodeStarted as NodeStarted
    from fakemq.events.core import NodeStopped as NodeStopped
    from fakemq.events.core import OffsetCommitted as OffsetCommitted
    from fakemq.events.core import OffsetReset as OffsetReset
    from fakemq.events.core import OffsetWentBack as OffsetWentBack
    from fakemq.events.core import PullHeld as PullHeld
    from fakemq.events.core import PullMoved as PullMoved
    from fakemq.events.core import PullWoken as PullWoken
    from fakemq.events.core import QueuesLocked as QueuesLocked
    from fakemq.events.core import ReplicaStateChanged as ReplicaStateChanged
    from fakemq.events.core import ReplyFailed as ReplyFailed
    from fakemq.events.core import RequestHandled as RequestHandled
    from fakemq.events.core import RequestReceived as RequestReceived
    from fakemq.events.core import RoleChanged as RoleChanged
    from fakemq.events.core import RouteRefused as RouteRefused
    from fakemq.events.core import RoutineSkipped as RoutineSkipped
    from fakemq.events.core import Scheduled as Scheduled
    from fakemq.events.core import ScheduledDelivered as ScheduledDelivered
    from fakemq.events.core import ScheduledDiscarded as ScheduledDiscarded
    from fakemq.events.core import SentBack as SentBack
    from fakemq.events.core import SnapshotRestored as SnapshotRestored
    from fakemq.events.core import StoreRepaired as StoreRepaired
    from fakemq.events.core import SubscriptionsDiffer as SubscriptionsDiffer
    from fakemq.events.core import TopicChanged as TopicChanged
    from fakemq.events.core import TransactionChecked as TransactionChecked
    from fakemq.events.core import TransactionDiscarded as TransactionDiscarded
    from fakemq.events.core import TransactionEnded as TransactionEnded
    from fakemq.events.core import Warned as Warned
    from fakemq.events.escape import Escaped as Escaped
    from fakemq.events.faults import AnswerWithheld as AnswerWithheld
    from fakemq.events.faults import FaultHit as FaultHit
    from fakemq.events.faults import FaultPlaced as FaultPlaced
    from fakemq.events.faults import FaultRemoved as FaultRemoved
    from fakemq.events.faults import FlowControlled as FlowControlled
    from fakemq.events.filters import PassedOver as PassedOver
    from fakemq.events.filters import TagCollided as TagCollided
    from fakemq.events.grpc import HandleRenewed as HandleRenewed
    from fakemq.events.grpc import OrphanAsked as OrphanAsked
    from fakemq.events.grpc import RpcHandled as RpcHandled
    from fakemq.events.grpc import RpcReceived as RpcReceived
    from fakemq.events.lite import LiteSubscribed as LiteSubscribed
    from fakemq.events.lite import LiteTopicExpired as LiteTopicExpired
    from fakemq.events.lite import LiteUnsubscribed as LiteUnsubscribed
    from fakemq.events.pop import Acknowledged as Acknowledged
    from fakemq.events.pop import InvisibleTimeChanged as InvisibleTimeChanged
    from fakemq.events.pop import Popped as Popped
    from fakemq.events.pop import Revived as Revived
    from fakemq.events.replication import EpochBegun as EpochBegun
    from fakemq.events.replication import InSyncSetProposed as InSyncSetProposed
    from fakemq.events.replication import InSyncSetTaken as InSyncSetTaken
    from fakemq.events.replication import LogTruncated as LogTruncated
    from fakemq.events.replication import MetadataSynchronized as MetadataSynchronized
    from fakemq.events.replication import Replicated as Replicated
    from fakemq.events.replication import ReplicationWaited as ReplicationWaited
    from fakemq.events.replication import ReportBelieved as ReportBelieved
    from fakemq.events.replication import SlaveReported as SlaveReported
    from fakemq.events.replication import Transferred as Transferred
    from fakemq.events.store import AlsoQueued as AlsoQueued
    from fakemq.events.store import StoreRecovered as StoreRecovered
    from fakemq.events.store import UnsyncedLost as UnsyncedLost
    from fakemq.events.timers import TimerDelivered as TimerDelivered
    from fakemq.events.timers import TimerDiscarded as TimerDiscarded
    from fakemq.events.timers import TimerRecalled as TimerRecalled
    from fakemq.events.timers import TimerRolled as TimerRolled
    from fakemq.events.timers import TimerSet as TimerSet

HOMES = {
    "ControllerDeposed": "controller",
    "ControllerElected": "controller",
    "MasterElected": "controller",
    "ReplicaInactive": "controller",
    "ReplicaJoined": "controller",
    "ReplicaMoved": "controller",
    "ReplicasCleaned": "controller",
    "SyncStateSetChanged": "controller",
    "Escaped": "escape",
    "FaultPlaced": "faults",
    "FaultHit": "faults",
    "FaultRemoved": "faults",
    "AnswerWithheld": "faults",
    "FlowControlled": "faults",
    "PassedOver": "filters",
    "TagCollided": "filters",
    "RpcReceived": "grpc",
    "RpcHandled": "grpc",
    "HandleRenewed": "grpc",
    "OrphanAsked": "grpc",
    "LiteSubscribed": "lite",
    "LiteUnsubscribed": "lite",
    "LiteTopicExpired": "lite",
    "Popped": "pop",
    "Acknowledged": "pop",
    "InvisibleTimeChanged": "pop",
    "Revived": "pop",
    "SlaveReported": "replication",
    "ReportBelieved": "replication",
    "Transferred": "replication",
    "Replicated": "replication",
    "ReplicationWaited": "replication",
    "MetadataSynchronized": "replication",
    "LogTruncated": "replication",
    "InSyncSetProposed": "replication",
    "InSyncSetTaken": "replication",
    "EpochBegun": "replication",
    "AlsoQueued": "store",
    "StoreRecovered": "store",
    "UnsyncedLost": "store",
    "TimerSet": "timers",
    "TimerDelivered": "timers",
    "TimerRolled": "timers",
    "TimerRecalled": "timers",
    "TimerDiscarded": "timers",
}
"""Name → its module, for the names that are not in ``core``."""


def __getattr__(name: str) -> object:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f"fakemq.events.{HOMES.get(name, 'core')}")
    try:
        value = getattr(module, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    globals()[name] = value
    return value
