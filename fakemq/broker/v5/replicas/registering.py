"""How a broker gets its id from a controller, and says where it is: step by step, with its files.

Source: broker/controller/ReplicasManager.java#register (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.broker.addresses import client_addr
from fakemq.broker.v5.replicas.controllers import NoAnswer
from fakemq.broker.v5.replicas.identity import BrokerMetadata, TempBrokerMetadata

if TYPE_CHECKING:
    from fakemq.broker.v5.replicas.controllers import GroupInfo, KnownControllers
    from fakemq.broker.v5.replicas.identity import Identity
    from fakemq.config.v5.model import BrokerConfig5
    from fakemq.dispatch.node import NodeContext
    from fakemq.later import Waits


class Registering:
    """The registration of one broker with its controller."""

    def __init__(
        self, node: NodeContext[BrokerConfig5], identity: Identity, controllers: KnownControllers
    ) -> None:
        self._node = node
        self._identity = identity
        self._controllers = controllers
        self.own_id: int | None = None
        """The broker's id as the controller knows it; None before it has one."""

    def reset(self) -> None:
        """Begin again with what the files say."""
        self.own_id = None

    def register(self) -> Waits[GroupInfo | None]:
        """Continue from what the files say; return what the controller says of the group.

        Return None where a step fails: the next call continues from there. An id that the
        controller refuses is given up; one whose answer was lost, too, as in Java.

        Source: ReplicasManager.java#confirmNowRegisteringState, #checkMetadataValid
        """
        metadata = self._identity.read()
        if metadata is None:
            self.own_id = None
            metadata = yield from self._apply()
        fits = metadata is not None and self._fits(metadata, "brokerIdentity")
        self.own_id = metadata.broker_id if metadata is not None and fits else None
        if self.own_id is None:
            return None
        found = yield from self._controllers.register_broker(self.own_id)
        return None if isinstance(found, NoAnswer) else found

    def _apply(self) -> Waits[BrokerMetadata | None]:
        """Apply for the id of ``brokerIdentity-temp``, or for the next one."""
        temp = self._identity.read_temp()
        if temp is None:
            broker_id = yield from self._controllers.next_broker_id()
            temp = None if broker_id is None else self._choose(broker_id)
        if temp is None or not self._fits(temp, "brokerIdentity-temp"):
            return None
        if not (
            yield from self._controllers.apply_broker_id(temp.broker_id, temp.register_check_code)
        ):
            self._identity.delete_temp()
            return None
        mine = BrokerMetadata(temp.cluster_name, temp.broker_name, temp.broker_id)
        if not self._identity.write(mine):
            return None
        self._identity.delete_temp()
        return mine

    def _choose(self, broker_id: int) -> TempBrokerMetadata | None:
        config = self._node.config
        code = f"{client_addr(config)};{self._node.clock.now_ms()}"
        names = config.broker_cluster_name, config.broker_name
        temp = TempBrokerMetadata(*names, broker_id, code)
        if self._identity.write_temp(temp):
            return temp
        self._identity.delete_temp()
        return None

    def _fits(self, metadata: BrokerMetadata, file: str) -> bool:
        """Return whether the names are those of the config; if not, say so."""
        config = self._node.config
        for key, has, wanted in (
            ("brokerClusterName", metadata.cluster_name, config.broker_cluster_name),
            ("brokerName", metadata.broker_name, config.broker_name),
        ):
            if has != wanted:
                text = (
                    f"{file} says {key}={has[:80]}, the config {wanted}: the broker registers with"
                    " no controller; set the key to the name in the file, or delete the file"
                )
                node, kind = self._node, "names in the identity"
                node.journal.peer_warnings.warn(node.name, kind, text)
                return False
        return True
