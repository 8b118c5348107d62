"""The state of a producer or consumer, with Java's names.

Source: common/ServiceState.java, client/impl/producer/DefaultMQProducerImpl.java#start (4.9.7)
"""

from __future__ import annotations

from enum import Enum

from fakemq.client.errors import MQClientError
from fakemq.protocol.topics import FAQ


class ServiceState(Enum):
    """CREATE_JUST → START_FAILED (while it starts) → RUNNING → SHUTDOWN_ALREADY.

    A start that a check refuses leaves START_FAILED, except one for a group that is taken in this
    process: that returns to CREATE_JUST, and may be tried again.
    """

    CREATE_JUST = "CREATE_JUST"
    RUNNING = "RUNNING"
    START_FAILED = "START_FAILED"
    SHUTDOWN_ALREADY = "SHUTDOWN_ALREADY"

    def require_startable(self, what: str) -> None:
        """Raise MQClientError unless ``what`` (``"producer"``) was never started."""
        if self is not ServiceState.CREATE_JUST:
            raise MQClientError(
                f"The {what} service state not OK, maybe started once, {self.value}{FAQ}"
            )

    def require_running(self, what: str) -> None:
        """Raise MQClientError unless ``what`` runs now."""
        if self is not ServiceState.RUNNING:
            raise MQClientError(f"The {what} service state not OK, {self.value}{FAQ}")
