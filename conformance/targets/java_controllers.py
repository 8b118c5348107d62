"""Real controllers of 5.5.0, and real replicas that they elect the masters of.

``with JavaControllers(3, replicas=3) as cluster`` has ``cluster.controllers`` and
``cluster.brokers["broker-a@2"]``, the replica that they have given id 2. Each controller
lives in a name server of its own, or alone, with ``embedded=False``. Everything lives in one
temporary directory; every JVM halts when this process ends, however it ends.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from conformance.targets.free_ports import free_port
from conformance.targets.java_cluster import (
    READY_TIMEOUT_S,
    SMALL_JVM,
    JavaBroker,
    JavaNode,
    wait_until,
)
from conformance.targets.java_jars import NEWEST
from conformance.wire.raw import call, frame, json_header, split

GET_METADATA, GET_SYNC_STATE_DATA = 1005, 1006
GROUP_OF_CONTROLLERS = "group-of-controllers"
IN_SYNC_S = 90.0
"""A slave that knows its master late asks for it again after up to 30 s, and reports after 5 s."""
NAMESRV, CONTROLLER = "namesrv.NamesrvStartup", "controller.ControllerStartup"


class JavaController(JavaNode):
    """A controller: alone, or inside a name server at ``namesrv_addr``."""

    def __init__(
        self, name: str, home: Path, jvm: Sequence[str], *, embedded: bool, version: str = NEWEST
    ) -> None:
        main = f"org.apache.rocketmq.{NAMESRV if embedded else CONTROLLER}"
        super().__init__(name, home, main, free_port(), jvm, version)
        self.namesrv_addr = f"127.0.0.1:{free_port()}" if embedded else ""
        self.config = {"mappedFileSize": str(1 << 20), "controllerStorePath": str(home / "log")}
        if embedded:
            self.config |= {
                "enableControllerInNamesrv": "true",
                "listenPort": self.namesrv_addr.rpartition(":")[2],
                "kvConfigPath": str(home / "kvConfig.json"),
            }

    def is_ready(self) -> bool:
        """Return whether it names a leader."""
        return super().is_ready() and bool(metadata(self.addr).get("controllerLeaderAddress"))


class JavaReplica(JavaBroker):
    """A replica of broker-a, whose master controllers elect, real or fake."""

    def __init__(
        self, home: Path, namesrvs: Sequence[str], controllers: Sequence[str], jvm: Sequence[str]
    ) -> None:
        any_port = int(namesrvs[0].rpartition(":")[2])
        namesrv = JavaNode("namesrv", home, "", any_port, ())
        super().__init__("broker-a", home, namesrv, jvm, NEWEST)
        self.config |= {
            "namesrvAddr": ";".join(namesrvs),
            "enableControllerMode": "true",
            "controllerAddr": ";".join(controllers),
        }

    def is_ready(self) -> bool:
        """Return whether it says so itself: as long as it knows no master, it is in no route."""
        return b"boot success" in (self.home / "stdout.log").read_bytes()

    def is_routed(self) -> bool:
        """Return whether the first name server knows it: it has a role then."""
        return JavaBroker.is_ready(self)


class JavaControllers:
    """``count`` controllers, and ``replicas`` replicas of broker-a; a context manager.

    ``config`` holds the properties of all nodes: a node leaves those that it does not know. With
    ``controllerType=jRaft`` the controllers have that in place of DLedger. Raises JavaClusterError,
    JavaBuildError.
    """

    def __init__(
        self,
        count: int = 1,
        *,
        replicas: int = 0,
        config: Mapping[str, str] | None = None,
        embedded: bool = True,
        jvm: Sequence[str] = SMALL_JVM,
    ) -> None:
        self._count = count
        self._replicas = replicas
        self._config = dict(config or {})
        self._has_jraft = self._config.get("controllerType") == "jRaft"
        self._embedded = embedded
        self._jvm = jvm
        self._home: Path | None = None
        self.controllers: list[JavaController] = []
        self.brokers: dict[str, JavaReplica] = {}

    @property
    def namesrv_addr(self) -> str:
        """Where the first name server is; empty if the controllers are alone."""
        return self.controllers[0].namesrv_addr

    def __enter__(self) -> Self:
        self._home = Path(tempfile.mkdtemp(prefix="rocketmq-"))
        try:
            self._start_controllers(self._home)
            self._start_replicas(self._home)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _start_controllers(self, home: Path) -> None:
        for index in range(self._count):
            name = f"controller-{index}"
            one = JavaController(name, home / name, self._jvm, embedded=self._embedded)
            one.config |= self._config
            self.controllers.append(one)
        addrs = [one.addr for one in self.controllers]
        rafts = [f"127.0.0.1:{free_port()}" for _ in addrs] if self._has_jraft else []
        for index, one in enumerate(self.controllers):
            if rafts:
                one.config |= {
                    "jRaftServerId": rafts[index],
                    "jRaftInitConf": ",".join(rafts),
                    "jRaftControllerRPCAddr": ",".join(addrs),
                }
            else:
                peers = (f"n{number}-{addr}" for number, addr in enumerate(addrs))
                one.config |= {
                    "controllerDLegerGroup": GROUP_OF_CONTROLLERS,
                    "controllerDLegerPeers": ";".join(peers),
                    "controllerDLegerSelfId": f"n{index}",
                }
            one.launch()
        for one in self.controllers:
            one.wait_ready()
        wait_until(lambda: bool(self.leader_addr()), READY_TIMEOUT_S)

    def leader_addr(self) -> str:
        """Return where the controller is that says that it leads; empty if none does."""
        running = (one.addr for one in self.controllers if one.running)
        return next((addr for addr in running if metadata(addr).get("isLeader") == "true"), "")

    def _start_replicas(self, home: Path) -> None:
        """Start them one after the other, so that each gets the id of its name."""
        namesrvs = [one.namesrv_addr for one in self.controllers]
        controllers = [one.addr for one in self.controllers]
        for controller_id in range(1, self._replicas + 1):
            name = f"broker-a@{controller_id}"
            one = JavaReplica(home / name, namesrvs, controllers, self._jvm)
            one.config |= self._config
            self.brokers[name] = one
            one.start()
            wait_until(one.is_routed, READY_TIMEOUT_S)
        everyone = set(range(1, self._replicas + 1))
        wait_until(lambda: in_sync(self.leader_addr()) == everyone, IN_SYNC_S)

    def _end(self) -> None:
        for node in [*self.brokers.values(), *self.controllers]:
            node.kill()
        if self._home is not None:
            shutil.rmtree(self._home, ignore_errors=True)


def metadata(controller_addr: str) -> dict[str, str]:
    """Return what a controller says of its group."""
    fields = json_header(call(controller_addr, frame(GET_METADATA, {}))).get("extFields") or {}
    assert isinstance(fields, dict)
    return fields


def replicas_info(controller_addr: str, group: str = "broker-a") -> dict[str, Any]:
    """Return what the leader of the controllers says of a group; nothing of one it lacks."""
    body = json.dumps([group]).encode()
    _, _, answer = split(call(controller_addr, frame(GET_SYNC_STATE_DATA, {}, body)))
    found: dict[str, Any] = json.loads(answer)["replicasInfoTable"].get(group, {})
    return found


def in_sync(controller_addr: str, group: str = "broker-a") -> set[int]:
    """Return the ids of the replicas that the leader holds for in sync."""
    rows = replicas_info(controller_addr, group).get("inSyncReplicas", [])
    return {int(row["brokerId"]) for row in rows}
