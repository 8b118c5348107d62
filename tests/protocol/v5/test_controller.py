"""What controllers and brokers say to each other has the bytes of Java."""

from __future__ import annotations

import pytest

from fakemq.protocol.header import Header
from fakemq.protocol.table import Row
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.bodies.controller import (
    BrokerReplicasInfo,
    ElectMasterResponseBody,
    ReplicaIdentity,
    ReplicasInfo,
    SyncStateSet,
)
from fakemq.protocol.v5.bodies.route import BrokerMemberGroup
from fakemq.protocol.v5.headers import controller as headers

OF_CONTROLLERS = {
    name: row
    for name, row in vars(table).items()
    if isinstance(row, Row) and row.code in range(1001, 1014)
}


def test_codes_of_a_controller_have_rows() -> None:
    rows = {row.code: (row.request_header, row.response_header) for row in OF_CONTROLLERS.values()}
    assert sorted(rows) == [*range(1001, 1014)]


def test_set_is_written_as_java_writes_it() -> None:
    body = SyncStateSet(sync_state_set=[1, 2], sync_state_set_epoch=3)
    assert body.encode() == b'{"syncStateSet":[1,2],"syncStateSetEpoch":3}'
    assert SyncStateSet.decode(body.encode()) == body


def test_body_of_an_election_has_bare_numbers_for_keys() -> None:
    group = BrokerMemberGroup(cluster="c", broker_name="broker-a", broker_addrs={1: "h:1"})
    body = ElectMasterResponseBody(broker_member_group=group, sync_state_set=[1])
    assert body.encode() == (
        b'{"brokerMemberGroup":{"brokerAddrs":{1:"h:1"},"brokerName":"broker-a","cluster":"c"},'
        b'"syncStateSet":[1]}'
    )
    assert ElectMasterResponseBody.decode(body.encode()) == body
    assert ElectMasterResponseBody(sync_state_set=[1]).encode() == b'{"syncStateSet":[1]}'


def test_group_without_master_has_no_fields_of_one() -> None:
    replica = ReplicaIdentity(
        broker_name="broker-a", broker_id=2, broker_address="h:2", alive=False
    )
    info = ReplicasInfo(
        master_epoch=4, sync_state_set_epoch=3, in_sync_replicas=[], not_in_sync_replicas=[replica]
    )
    body = BrokerReplicasInfo(replicas_info_table={"broker-a": info})
    assert body.encode() == (
        b'{"replicasInfoTable":{"broker-a":{"inSyncReplicas":[],"masterEpoch":4,'
        b'"notInSyncReplicas":[{"alive":false,"brokerAddress":"h:2","brokerId":2,'
        b'"brokerName":"broker-a"}],"syncStateSetEpoch":3}}}'
    )


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (headers.GetMetaDataResponseHeader(group="g"), {"group": "g", "isLeader": "false"}),
        (headers.AlterSyncStateSetResponseHeader(), {"newSyncStateSetEpoch": "0"}),
        (headers.ElectMasterResponseHeader(), {}),
        (
            headers.CleanControllerBrokerDataRequestHeader(
                broker_name="b", is_clean_living_broker=True
            ),
            {"brokerName": "b", "isCleanLivingBroker": "true"},
        ),
    ],
)
def test_header_has_the_names_of_javas_fields(header: Header, expected: dict[str, str]) -> None:
    assert header.encode() == expected


def test_election_without_fields_has_no_broker() -> None:
    header = headers.ElectMasterRequestHeader.decode({})
    assert (header.broker_name, header.broker_id, header.designate_elect) == ("", -1, False)
