"""How a broker gets its id from a controller, and says where it is: step by step, with its files.

Source: broker/controller/ReplicasManager.java#register (5.5.0)
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from fakemq.broker.addresses import client_addr
from fakemq.broker.v5.replicas.controllers import NoAnswer
from fakemq.broker.v5.replicas.identity import BrokerMetadata, TempBrokerMetadata
from fakemq.events.core import Warned

if TYPE_CHECKING:
    from fakemq.broker.v5.replicas.controllers import GroupInfo, KnownControllers
    from fakemq.broker.v5.replicas.identity import Identity
    from fakemq.config.v5.model import BrokerConfig5
    from fakemq.dispatch.node import NodeContext
    from fakemq.later import Waits


class RegisterState(Enum):
    """How far the registration is; the files say it again after a restart."""

    INITIAL = 0
    CREATE_TEMP_METADATA_FILE_DONE = 1
    """The id is chosen, and not yet the broker's."""
    CREATE_METADATA_FILE_DONE = 2
    """The id is the broker's for ever."""
    REGISTERED = 3


class Registering:
    """The registration of one broker with its controller."""

    def __init__(
        self, node: NodeContext[BrokerConfig5], identity: Identity, controllers: KnownControllers
    ) -> None:
        self._node = node
        self._identity = identity
        self._controllers = controllers
        self.state = RegisterState.INITIAL
        self.own_id: int | None = None
        """The broker's id as the controller knows it; None before it has one."""

    def reset(self) -> None:
        """Begin again with what the files say."""
        self.state, self.own_id = RegisterState.INITIAL, None

    def register(self) -> Waits[GroupInfo | None]:
        """Continue from what is done; return what the controller says of the group at the end.

        Return None where a step fails: the next call continues from there. An id that the
        controller refuses is given up; one whose answer was lost, too, as in Java.
        """
        applying = self._confirm()
        if self.state is RegisterState.INITIAL:
            broker_id = yield from self._controllers.next_broker_id()
            applying = None if broker_id is None else self._choose(broker_id)
            if applying is None:
                return None
            self.state = RegisterState.CREATE_TEMP_METADATA_FILE_DONE
        if self.state is RegisterState.CREATE_TEMP_METADATA_FILE_DONE:
            if applying is None or not self._fits(applying, "brokerIdentity-temp"):
                return None
            if not (yield from self._apply(applying)):
                return None
        if self.own_id is None:
            return None
        found = yield from self._controllers.register_broker(self.own_id)
        if isinstance(found, NoAnswer):
            return None
        self.state = RegisterState.REGISTERED
        return found

    def _confirm(self) -> TempBrokerMetadata | None:
        """Find out what is done already; return the id that is being applied for, if one is.

        Source: ReplicasManager.java#confirmNowRegisteringState, #checkMetadataValid
        """
        metadata = self._identity.read()
        if metadata is not None:
            self.state = RegisterState.CREATE_METADATA_FILE_DONE
            fits = self._fits(metadata, "brokerIdentity")
            self.own_id = metadata.broker_id if fits else None
            return None
        self.own_id = None
        temp = self._identity.read_temp()
        self.state = (
            RegisterState.INITIAL if temp is None else RegisterState.CREATE_TEMP_METADATA_FILE_DONE
        )
        return temp

    def _choose(self, broker_id: int) -> TempBrokerMetadata | None:
        config = self._node.config
        code = f"{client_addr(config)};{self._node.clock.now_ms()}"
        names = config.broker_cluster_name, config.broker_name
        temp = TempBrokerMetadata(*names, broker_id, code)
        if self._identity.write_temp(temp):
            return temp
        self._identity.delete_temp()
        return None

    def _apply(self, temp: TempBrokerMetadata) -> Waits[bool]:
        if not (
            yield from self._controllers.apply_broker_id(temp.broker_id, temp.register_check_code)
        ):
            self._identity.delete_temp()
            self.state = RegisterState.INITIAL
            return False
        mine = BrokerMetadata(temp.cluster_name, temp.broker_name, temp.broker_id)
        if not self._identity.write(mine):
            return False
        self._identity.delete_temp()
        self.state, self.own_id = RegisterState.CREATE_METADATA_FILE_DONE, mine.broker_id
        return True

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
                self._node.journal.add(Warned(node=self._node.name, text=text))
                return False
        return True
