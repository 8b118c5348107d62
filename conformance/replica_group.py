"""Replicas of a scenario's own: what brokers ask a controller, and brokers that need no JVM.

Each replica asks on a connection of its own, as ``replica 1``. Its address is one that no process
listens at, ``127.0.0.11:10911`` for id 1, unless the scenario has another.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from conformance.run import Run
from conformance.wire.peer import Answer, Body
from conformance.wire.requests import texts
from fakemq.protocol.v5.codes import RequestCode5 as Code

CLUSTER = "DefaultCluster"
LASTING_MS = 3_600_000
"""A heartbeat that counts for as long as any scenario takes."""
LONG_AGO_MS = 1_100_000_000_000
ELECTED_MS = 30_000
"""A bound for what a controller finds out by looking every five seconds, and tries three times."""


def given(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields that have a value: None is for one that is left out."""
    return {name: value for name, value in fields.items() if value is not None}


class ReplicaGroup:
    """The replicas of one broker name; other names of fields than those given are the wire's."""

    def __init__(self, run: Run, name: str, place: str = "controller-0") -> None:
        self.run = run
        self.name = name
        self.place = place
        self.addrs: dict[int, str] = {}

    def addr(self, replica: int) -> str:
        """Return the address of a replica."""
        return self.addrs.get(replica, f"127.0.0.{10 + replica}:10911")

    def check_code(self, replica: int) -> str:
        """Return what a replica applies for its id with."""
        return f"{self.addr(replica)};{LONG_AGO_MS}"

    # -- fields -------------------------------------------------------------------------------

    def _member(self, **more: object) -> dict[str, object]:
        return given({"clusterName": CLUSTER, "brokerName": self.name} | more)

    def apply_fields(self, replica: int, **more: object) -> dict[str, object]:
        code = self.check_code(replica)
        return self._member(**{"appliedBrokerId": replica, "registerCheckCode": code} | more)

    def register_fields(self, replica: int, **more: object) -> dict[str, object]:
        return self._member(**{"brokerId": replica, "brokerAddress": self.addr(replica)} | more)

    def beat_fields(self, replica: int, **more: object) -> dict[str, object]:
        fields = {
            "brokerAddr": self.addr(replica),
            "brokerId": replica,
            "epoch": 0,
            "maxOffset": 0,
            "confirmOffset": 0,
            "heartbeatTimeoutMills": LASTING_MS,
        }
        return self._member(**fields | more)

    def elect_fields(self, replica: int, **more: object) -> dict[str, object]:
        return self._member(**{"brokerId": replica, "designateElect": False} | more)

    # -- what is written down -----------------------------------------------------------------

    def ask(
        self,
        replica: int,
        code: int,
        fields: Mapping[str, object] | None = None,
        body: Body = b"",
        *,
        place: str = "",
    ) -> Answer:
        """Ask as a replica."""
        return self.run.ask(place or self.place, code, fields, body, peer=f"replica {replica}")

    def next_id(self, replica: int) -> Answer:
        return self.ask(replica, Code.CONTROLLER_GET_NEXT_BROKER_ID, self._member())

    def apply(self, replica: int, **more: object) -> Answer:
        fields = self.apply_fields(replica, **more)
        return self.ask(replica, Code.CONTROLLER_APPLY_BROKER_ID, fields)

    def register(self, replica: int, **more: object) -> Answer:
        fields = self.register_fields(replica, **more)
        return self.ask(replica, Code.CONTROLLER_REGISTER_BROKER, fields)

    def beat(self, replica: int, **more: object) -> Answer:
        """Beat, and be answered: real brokers do it one-way."""
        return self.ask(replica, Code.BROKER_HEARTBEAT, self.beat_fields(replica, **more))

    def elect(self, replica: int, **more: object) -> Answer:
        """Ask for an election, as a replica that knows no master does."""
        return self.ask(replica, Code.CONTROLLER_ELECT_MASTER, self.elect_fields(replica, **more))

    def elect_by_admin(self, replica: int, **more: object) -> Answer:
        """Ask for an election, as mqadmin does, of that replica."""
        fields = self.elect_fields(replica, **{"designateElect": True} | more)
        return self.run.ask(self.place, Code.CONTROLLER_ELECT_MASTER, fields, peer="admin")

    def alter(
        self, master: int, epoch: int, members: list[int], set_epoch: int, **more: object
    ) -> Answer:
        """Report a new set, as its master."""
        fields = {"brokerName": self.name, "masterBrokerId": master, "masterEpoch": epoch}
        body = {"syncStateSet": members, "syncStateSetEpoch": set_epoch}
        return self.ask(
            master, Code.CONTROLLER_ALTER_SYNC_STATE_SET, given({**fields, **more}), body
        )

    def info(self, *, place: str = "") -> Answer:
        """Ask for the master and the set, as a replica does."""
        fields = {"brokerName": self.name}
        at = place or self.place
        return self.run.ask(at, Code.CONTROLLER_GET_REPLICA_INFO, fields, peer="admin")

    def sync_data(self, *, place: str = "") -> Answer:
        """Ask what the controller knows of the group, as mqadmin does."""
        at = place or self.place
        return self.run.ask(
            at, Code.CONTROLLER_GET_SYNC_STATE_DATA, None, [self.name], peer="admin"
        )

    def clean(self, ids: str | None = None, **more: object) -> Answer:
        """Ask to forget replicas, as mqadmin does."""
        fields = self._member(
            **{"brokerControllerIdsToClean": ids, "cleanLivingBroker": False} | more
        )
        return self.run.ask(self.place, Code.CLEAN_BROKER_DATA, fields, peer="admin")

    # -- what is not --------------------------------------------------------------------------

    def quietly(
        self, replica: int, code: int, fields: Mapping[str, object], body: Body = b""
    ) -> Answer:
        """Ask as a replica, what must succeed, and write nothing down."""
        peer = self.run.peer(f"replica {replica}", self.place)
        answer = peer.quietly(code, texts(fields), body)
        assert answer.code == 0, (code, fields, answer)
        return answer

    def join(self, *replicas: int, **beat: object) -> None:
        """Apply for ids, register and beat: on return they are replicas and alive."""
        self.run.note(f"{self.name}: {_listed(replicas)}: registered, and alive")
        for one in replicas:
            self.quietly(one, Code.CONTROLLER_APPLY_BROKER_ID, self.apply_fields(one))
            self.quietly(one, Code.CONTROLLER_REGISTER_BROKER, self.register_fields(one))
            self.quietly(one, Code.BROKER_HEARTBEAT, self.beat_fields(one, **beat))

    def lead(self, master: int, *others: int) -> None:
        """Have a replica elected the first master, with others in its set then: epochs 1 and 2."""
        members = sorted([master, *others])
        self.run.note(f"{self.name}: {master} is the master, the set {_listed(members)}")
        self.quietly(master, Code.CONTROLLER_ELECT_MASTER, self.elect_fields(master))
        if others:
            fields = {"brokerName": self.name, "masterBrokerId": master, "masterEpoch": 1}
            body = {"syncStateSet": members, "syncStateSetEpoch": 1}
            self.quietly(master, Code.CONTROLLER_ALTER_SYNC_STATE_SET, fields, body)

    def dies(self, *replicas: int) -> None:
        """End their connections: the controller takes them for dead at once."""
        for one in replicas:
            self.run.hang_up(f"replica {one}", self.place)

    def silence(self, *replicas: int, within_ms: int = ELECTED_MS) -> None:
        """Wait until the controller takes replicas, which beat no more, for dead."""
        self.run.wait(
            lambda: not any(self.alive()[one] for one in replicas),
            within_ms,
            f"the death of {replicas}",
        )

    def alive(self) -> dict[int, bool]:
        """Return which replicas the controller takes for alive."""
        found = self.state()
        rows = [*found["inSyncReplicas"], *found["notInSyncReplicas"]]
        return {int(row["brokerId"]): row["alive"] for row in rows}

    def epoch(self) -> int:
        """Return the epoch of the group's masters."""
        return int(self.state()["masterEpoch"])

    def until_epoch(self, epoch: int, within_ms: int = ELECTED_MS) -> None:
        """Wait until elections, done or failed, have brought the group there."""
        self.run.wait(lambda: self.epoch() >= epoch, within_ms, f"epoch {epoch} of {self.name}")

    def state(self) -> dict[str, Any]:
        """Return what the controller knows of the group."""
        peer = self.run.peer("silent", self.place)
        answer = peer.quietly(Code.CONTROLLER_GET_SYNC_STATE_DATA, {}, [self.name])
        assert answer.code == 0, answer
        found: dict[str, Any] = json.loads(answer.body)["replicasInfoTable"][self.name]
        return found


def _listed(replicas: list[int] | tuple[int, ...]) -> str:
    return ", ".join(map(str, replicas))
