"""What a leader answers, and the events of it: one function for each request of the state.

None of them changes the state. An event is applied, and the answer sent, once the log has it.

An answer that refuses has the header of success, too, with what is known. A field that is missing
where Java reads it raises `NullFieldError`.

Source: controller/impl/manager/ReplicasInfoManager.java (5.5.0)
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from fakemq.controller.elect import Alive, elect
from fakemq.controller.events import (
    AlterSyncStateSetEvent,
    ApplyBrokerIdEvent,
    CleanBrokerDataEvent,
    ElectMasterEvent,
    UpdateBrokerAddressEvent,
)
from fakemq.controller.state import (
    FIRST_BROKER_CONTROLLER_ID,
    MOST_CHARS,
    BrokerReplicaInfo,
    State,
    SyncStateInfo,
)
from fakemq.dispatch.answers import Reply
from fakemq.dispatch.outcomes import required
from fakemq.protocol.errors import IllegalArgumentError, NumberFormatError
from fakemq.protocol.header import Header, parse_long
from fakemq.protocol.java import java_hash_map_order
from fakemq.protocol.limits import MOST_REPLICAS
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5.bodies.controller import (
    ElectMasterResponseBody,
    ReplicaIdentity,
    ReplicasInfo,
    SyncStateSet,
)
from fakemq.protocol.v5.bodies.route import BrokerMemberGroup
from fakemq.protocol.v5.codes import ResponseCode5
from fakemq.protocol.v5.headers import controller as headers

if TYPE_CHECKING:
    from fakemq.controller.events import ControllerEvent

HeaderT = TypeVar("HeaderT", bound=Header)

NO_BROKER = -1
"""The broker id of an election that is for no broker: the controller's own, above all."""
MOST_GROUPS = 10_000
"""How many groups there may be; Java takes any number."""
MOST_CHARS_OF_IDS = 100_000
"""How long the text of the ids to clean may be; Java takes any length."""


class Decision(msgspec.Struct, Generic[HeaderT]):
    """The answer to a request, and what it changes, in this order."""

    reply: Reply[HeaderT]
    events: tuple[ControllerEvent, ...] = ()


def alter_sync_state_set(
    state: State, header: headers.AlterSyncStateSetRequestHeader, asked: SyncStateSet, alive: Alive
) -> Decision[headers.AlterSyncStateSetResponseHeader]:
    """Decide on another set, which the master of a group asks for.

    The equal set is refused before the epochs are looked at: so a master whose answer was lost is
    refused when it asks again.
    """

    def refused(
        code: ResponseCode5, remark: str
    ) -> Decision[headers.AlterSyncStateSetResponseHeader]:
        nothing = headers.AlterSyncStateSetResponseHeader()
        return Decision(Reply(nothing, code=code, remark=remark))

    name = _name(header.broker_name)
    group = state.group(name)
    if group is None:
        code = ResponseCode5.CONTROLLER_ALTER_SYNC_STATE_SET_FAILED
        return refused(code, "Broker metadata is not existed")
    replicas, sync = group
    members = frozenset(required(asked.sync_state_set, "SyncStateSet", "syncStateSet"))
    if members == sync.sync_state_set:
        return refused(
            ResponseCode5.CONTROLLER_ALTER_SYNC_STATE_SET_FAILED,
            "The newSyncStateSet is equal with oldSyncStateSet, no needed to update syncStateSet",
        )
    rejecting = "Rejecting alter syncStateSet request because the"
    master = sync.master_broker_id
    if master is None or master != header.master_broker_id:
        said = f"current leader is:{{{_null(master)}}}, not {{{_null(header.master_broker_id)}}}"
        return refused(ResponseCode5.CONTROLLER_INVALID_MASTER, f"{rejecting} {said}")
    epoch = required(header.master_epoch, "AlterSyncStateSetRequestHeader", "masterEpoch")
    if epoch != sync.master_epoch:
        said = f"current master epoch is:{{{sync.master_epoch}}}, not {{{epoch}}}"
        return refused(ResponseCode5.CONTROLLER_FENCED_MASTER_EPOCH, f"{rejecting} {said}")
    set_epoch, asked_epoch = sync.sync_state_set_epoch, asked.sync_state_set_epoch
    if asked_epoch != set_epoch:
        said = f"current syncStateSet epoch is:{{{set_epoch}}}, not {{{asked_epoch}}}"
        return refused(ResponseCode5.CONTROLLER_FENCED_SYNC_STATE_SET_EPOCH, f"{rejecting} {said}")
    if len(members) > MOST_REPLICAS:
        said = f"set has {len(members)} replicas: fakemq takes {MOST_REPLICAS} at most"
        return refused(ResponseCode5.CONTROLLER_INVALID_REPLICAS, f"{rejecting} {said}")
    for replica in java_hash_map_order(members):
        if replica not in replicas.replicas:
            said = f"replicas {{{replica}}} don't exist"
            return refused(ResponseCode5.CONTROLLER_INVALID_REPLICAS, f"{rejecting} {said}")
        if not alive.is_alive(replicas.cluster, name, replica):
            said = f"replicas {{{replica}}} don't alive"
            return refused(ResponseCode5.CONTROLLER_BROKER_NOT_ALIVE, f"{rejecting} {said}")
    if master not in members:
        said = f"newSyncStateSet don't contains origin leader {{{master}}}"
        code = ResponseCode5.CONTROLLER_ALTER_SYNC_STATE_SET_FAILED
        return refused(code, f"{rejecting} {said}")
    answer = headers.AlterSyncStateSetResponseHeader(new_sync_state_set_epoch=set_epoch + 1)
    event = AlterSyncStateSetEvent(broker_name=name, new_sync_state_set=tuple(sorted(members)))
    return Decision(Reply(answer, _set_body(members, set_epoch + 1)), (event,))


def elect_master(
    state: State, header: headers.ElectMasterRequestHeader, alive: Alive, *, unclean: bool
) -> Decision[headers.ElectMasterResponseHeader]:
    """Decide which broker is the master of a group.

    The first master ever is the broker that asks, even if it does not live, or never registered. If
    there is none to elect, and no broker asks, the old one is forgotten, and its epoch ends.
    """
    name, asking = _name(header.broker_name), header.broker_id
    answer = headers.ElectMasterResponseHeader()
    group = state.group(name)
    if group is None:
        code = ResponseCode5.CONTROLLER_BROKER_NEED_TO_BE_REGISTERED
        return Decision(Reply(answer, code=code, remark="Broker hasn't been registered"))
    replicas, sync = group
    master: int | None = asking
    if sync.master_epoch or asking == NO_BROKER:
        designated = asking if header.designate_elect else None
        master = elect(alive, name, replicas, sync, unclean=unclean, designated=designated)
    if master is None:
        if asking != NO_BROKER:
            code = ResponseCode5.CONTROLLER_ELECT_MASTER_FAILED
            return Decision(Reply(answer, code=code, remark="Failed to elect a new master"))
        code = ResponseCode5.CONTROLLER_MASTER_NOT_AVAILABLE
        remark = "Old master has down and failed to elect a new broker master"
        forgotten = ElectMasterEvent(broker_name=name, new_master_broker_id=None)
        return Decision(Reply(answer, code=code, remark=remark), (forgotten,))
    answer.master_broker_id, answer.master_address = master, replicas.address(master)
    answer.master_epoch, answer.sync_state_set_epoch = sync.master_epoch, sync.sync_state_set_epoch
    if master == sync.master_broker_id:
        body = ElectMasterResponseBody(sync_state_set=java_hash_map_order(sync.sync_state_set))
        remark = (
            f"The old master {master} is still alive, not need to elect new master for broker"
            f" {name}"
        )
        code = ResponseCode5.CONTROLLER_MASTER_STILL_EXIST
        return Decision(Reply(answer, body.encode(), code=code, remark=remark))
    answer.master_epoch += 1
    answer.sync_state_set_epoch += 1
    members = BrokerMemberGroup(
        cluster=replicas.cluster,
        broker_name=name,
        broker_addrs={id_: replicas.replicas[id_].address for id_ in ids_of(replicas)},
    )
    body = ElectMasterResponseBody(broker_member_group=members, sync_state_set=[master])
    elected = ElectMasterEvent(broker_name=name, new_master_broker_id=master)
    return Decision(Reply(answer, body.encode()), (elected,))


def get_next_broker_id(
    state: State, header: headers.GetNextBrokerIdRequestHeader
) -> Decision[headers.GetNextBrokerIdResponseHeader]:
    """Say which id a broker may apply for; it never fails."""
    info = state.replica_infos.get(_name(header.broker_name))
    answer = headers.GetNextBrokerIdResponseHeader(
        cluster_name=header.cluster_name,
        broker_name=header.broker_name,
        next_broker_id=FIRST_BROKER_CONTROLLER_ID if info is None else info.next_broker_id,
    )
    return Decision(Reply(answer))


def apply_broker_id(
    state: State, header: headers.ApplyBrokerIdRequestHeader
) -> Decision[headers.ApplyBrokerIdResponseHeader]:
    """Give a broker an id that is free, or that it has applied for before.

    Differs: a group has at most `MOST_REPLICAS` ids, and there are at most `MOST_GROUPS` groups.
    """
    bean = "ApplyBrokerIdRequestHeader"
    check_code = _kept(required(header.register_check_code, bean, "registerCheckCode"))
    name = _kept(_name(header.broker_name))
    _kept(header.cluster_name or "")
    broker_id = header.applied_broker_id
    answer = headers.ApplyBrokerIdResponseHeader(cluster_name=header.cluster_name, broker_name=name)
    info = state.replica_infos.get(name)
    remark = ""
    broker_id = required(broker_id, bean, "appliedBrokerId")
    if info is None:
        if broker_id != FIRST_BROKER_CONTROLLER_ID:
            remark = (
                f"Broker-set: {name} hasn't been registered in controller, but broker try to apply"
                f" brokerId: {broker_id}"
            )
        elif len(state.replica_infos) >= MOST_GROUPS:
            remark = f"Fail to apply brokerId: {broker_id} in broker-set: {name}"
    else:
        holder = info.replicas.get(broker_id)
        is_full = holder is None and len(info.replicas) >= MOST_REPLICAS
        if is_full or (holder is not None and holder.check_code != check_code):
            remark = f"Fail to apply brokerId: {broker_id} in broker-set: {name}"
        elif holder is not None and name in state.sync_state_infos:
            return Decision(Reply(answer))  # it asks again, and nothing changes
    if remark:
        code = ResponseCode5.CONTROLLER_BROKER_ID_INVALID
        return Decision(Reply(answer, code=code, remark=remark))
    event = ApplyBrokerIdEvent(
        cluster_name=header.cluster_name,
        broker_name=name,
        broker_address=check_code.partition(";")[0],
        new_broker_id=broker_id,
        register_check_code=check_code,
    )
    return Decision(Reply(answer), (event,))


def register_broker(
    state: State, header: headers.RegisterBrokerToControllerRequestHeader, alive: Alive
) -> Decision[headers.RegisterBrokerToControllerResponseHeader]:
    """Return the master to a broker, if one lives, and note where the broker is now."""
    bean, name = "RegisterBrokerToControllerRequestHeader", _name(header.broker_name)
    answer = headers.RegisterBrokerToControllerResponseHeader(
        cluster_name=header.cluster_name, broker_name=name
    )
    group = state.group(name)
    code = ResponseCode5.CONTROLLER_BROKER_NEED_TO_BE_REGISTERED
    if group is None:
        remark = f"Broker-set: {name} hasn't been registered in controller"
        return Decision(Reply(answer, code=code, remark=remark))
    replicas, sync = group
    broker_id = required(header.broker_id, bean, "brokerId")
    if broker_id not in replicas.replicas:
        remark = f"BrokerId: {broker_id} hasn't been registered in broker-set: {name}"
        return Decision(Reply(answer, code=code, remark=remark))
    master = sync.master_broker_id
    # Of the cluster that the request names, as in Java: elsewhere none lives.
    if master is not None and alive.is_alive(header.cluster_name, name, master):
        answer.master_broker_id, answer.master_address = master, replicas.address(master)
        answer.master_epoch = sync.master_epoch
        answer.sync_state_set_epoch = sync.sync_state_set_epoch
    body = _set_body(sync.sync_state_set, sync.sync_state_set_epoch)
    address = _kept(required(header.broker_address, bean, "brokerAddress"))
    if address == replicas.address(broker_id):
        return Decision(Reply(answer, body))
    moved = UpdateBrokerAddressEvent(broker_name=name, broker_address=address, broker_id=broker_id)
    return Decision(Reply(answer, body), (moved,))


def get_replica_info(
    state: State, header: headers.GetReplicaInfoRequestHeader
) -> Decision[headers.GetReplicaInfoResponseHeader]:
    """Return the master of a group, and the replicas that are in sync."""
    group = state.group(_name(header.broker_name))
    if group is None:
        nothing = headers.GetReplicaInfoResponseHeader()
        code = ResponseCode5.CONTROLLER_BROKER_METADATA_NOT_EXIST
        return Decision(Reply(nothing, code=code, remark="Broker metadata is not existed"))
    replicas, sync = group
    answer = headers.GetReplicaInfoResponseHeader(
        master_broker_id=sync.master_broker_id,
        master_address=replicas.address(sync.master_broker_id),
        master_epoch=sync.master_epoch,
    )
    return Decision(Reply(answer, _set_body(sync.sync_state_set, sync.sync_state_set_epoch)))


def replicas_info(state: State, broker_name: str, alive: Alive) -> ReplicasInfo | None:
    """Return what GET_SYNC_STATE_DATA says of a group; None for an unknown one."""
    group = state.group(broker_name)
    if group is None:
        return None
    replicas, sync = group
    halves: tuple[list[ReplicaIdentity], list[ReplicaIdentity]] = ([], [])
    for broker_id in ids_of(replicas):
        identity = ReplicaIdentity(
            broker_name=broker_name,
            broker_id=broker_id,
            broker_address=replicas.address(broker_id),
            alive=alive.is_alive(replicas.cluster, broker_name, broker_id),
        )
        halves[broker_id not in sync.sync_state_set].append(identity)
    return ReplicasInfo(
        master_broker_id=sync.master_broker_id,
        master_address=replicas.address(sync.master_broker_id),
        master_epoch=sync.master_epoch,
        sync_state_set_epoch=sync.sync_state_set_epoch,
        in_sync_replicas=halves[0],
        not_in_sync_replicas=halves[1],
    )


def clean_broker_data(
    state: State, header: headers.CleanControllerBrokerDataRequestHeader, alive: Alive
) -> Decision[NoHeader]:
    """Forget ids of a group, or all of it.

    With ``is_clean_living_broker`` the ids count for nothing: the group is forgotten.
    """
    name = header.broker_name
    code = ResponseCode5.CONTROLLER_INVALID_CLEAN_BROKER_METADATA
    ids = asked = frozenset[int]()
    if not header.is_clean_living_broker:
        text = _kept(header.broker_controller_ids_to_clean or "", MOST_CHARS_OF_IDS)
        group, sync = state.group(name), state.sync_state_infos.get(name)
        is_blank = not text.strip()
        if is_blank and sync is not None and sync.master_broker_id is not None:
            remark = f"Broker {name} is still alive, clean up failure"
            return Decision(Reply(code=code, remark=remark))
        try:
            asked = frozenset() if is_blank else frozenset(map(parse_long, _split(text)))
        except NumberFormatError as error:
            remark = (
                "Please set the option <brokerControllerIdsToClean> according to the format,"
                f" exception: java.lang.NumberFormatException: {error}"
            )
            return Decision(Reply(code=code, remark=remark))
        known = set[int]() if group is None else group[0].replicas.keys() | group[1].sync_state_set
        # Not without any: that would clean the whole group.
        ids = asked & known or frozenset(sorted(asked)[:1])
        for broker_id in java_hash_map_order(ids):
            if alive.is_alive(header.cluster_name, name, broker_id):
                remark = f"Broker [{name},  {broker_id}] is still alive, clean up failure"
                return Decision(Reply(code=code, remark=remark))
    if state.group(name) is None:
        remark = f"Broker {name} is not existed,clean broker data failure."
        return Decision(Reply(code=code, remark=remark))
    event = CleanBrokerDataEvent(broker_name=name, broker_id_set_to_clean=tuple(sorted(ids)))
    return Decision(Reply(), (event,))


def ids_of(replicas: BrokerReplicaInfo) -> list[int]:
    """Return the ids of a group in the order of Java's map."""
    return java_hash_map_order(replicas.replicas)


def needs_master(name: str, replicas: BrokerReplicaInfo, sync: SyncStateInfo, alive: Alive) -> bool:
    """Return whether the master of a group does not live, and another of its replicas does.

    Source: controller/impl/manager/ReplicasInfoManager.java#scanNeedReelectBrokerSets (5.5.0)
    """
    master, cluster = sync.master_broker_id, replicas.cluster
    if master is None or alive.is_alive(cluster, name, master):
        return False
    return any(alive.is_alive(cluster, name, one) for one in replicas.replicas)


def _name(broker_name: str | None) -> str:
    """Return the name of a group; raise NullFieldError without one: Java's map has no null."""
    return required(broker_name, "RequestHeader", "brokerName")


def _kept(text: str, most_chars: int = MOST_CHARS) -> str:
    """Return a text for the log; raise IllegalArgumentError for one that it cannot keep."""
    if len(text) > most_chars:
        raise IllegalArgumentError(f"{len(text)} characters: expected {most_chars} at most")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise IllegalArgumentError("half of a surrogate pair is no text") from None
    return text


def _null(value: int | None) -> str:
    return "null" if value is None else str(value)


def _split(text: str) -> list[str]:
    """Split at semicolons as String.split does: without the empty texts at the end."""
    parts = text.split(";")
    while parts and not parts[-1]:
        parts.pop()
    return parts


@lru_cache(16)  # each replica asks for the same one every 5 s
def _set_body(members: frozenset[int], epoch: int) -> bytes:
    body = SyncStateSet(sync_state_set=java_hash_map_order(members), sync_state_set_epoch=epoch)
    return body.encode()
