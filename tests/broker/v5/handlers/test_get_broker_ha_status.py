"""GET_BROKER_HA_STATUS (907): how far slaves are, and where a slave's master is."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol import fastjson
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.replication import SYNC, Replicated


def status(lab: Replicated, broker: Broker) -> dict[str, object]:
    answer = lab.ask(broker, RequestCode5.GET_BROKER_HA_STATUS)
    found: dict[str, object] = fastjson.loads(answer.body)
    return found


def test_master_says_how_far_its_slaves_are() -> None:
    lab = Replicated(reference="5.5.0", role=SYNC)
    lab.send()
    end = lab.master.store.max_phy_offset
    (slave,) = lab.ha.connections
    assert status(lab, lab.master) == {
        "master": True,
        "masterCommitLogMaxOffset": end,
        "inSyncSlaveNums": 1,
        "haConnectionInfo": [
            {
                "addr": slave.remote_addr,
                "slaveAckOffset": 0,
                "diff": end,
                "inSync": True,
                "transferFromWhere": 0,
                "transferredByteInSecond": 0,
            }
        ],
        "haClientRuntimeInfo": {
            "lastReadTimestamp": 0,
            "lastWriteTimestamp": 0,
            "masterFlushOffset": 0,
            "maxOffset": 0,
            "transferredByteInSecond": 0,
        },
    }
    lab.core.advance(100)
    info = status(lab, lab.master)["haConnectionInfo"]
    assert isinstance(info, list)
    assert (info[0]["slaveAckOffset"], info[0]["diff"]) == (end, 0)


def test_slave_says_where_its_master_is() -> None:
    lab = Replicated(reference="5.5.0", role=SYNC)
    lab.send()
    lab.core.advance(100)
    now_ms = lab.core.clock.now_ms()
    found = status(lab, lab.slave)
    assert (found["master"], found["haConnectionInfo"]) == (False, [])
    assert found["haClientRuntimeInfo"] == {
        "masterAddr": lab.master.ha_addr,
        "lastReadTimestamp": now_ms,
        "lastWriteTimestamp": now_ms,
        "masterFlushOffset": 0,
        "maxOffset": lab.slave.store.max_phy_offset,
        "transferredByteInSecond": 0,
    }
