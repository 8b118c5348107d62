"""Whether clients of a group pull or pop a topic, and how they share its queues.

Source: broker/loadbalance/MessageRequestModeManager.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.clock.slices import in_one_step
from fakemq.protocol.bodies.pop import MessageRequestModeTable, SetMessageRequestModeRequestBody
from fakemq.protocol.topics import RETRY_PREFIX

if TYPE_CHECKING:
    from fakemq.clock.slices import Steps
    from fakemq.config.v5.model import BrokerConfig5

PULL, POP = "PULL", "POP"


class RequestModes:
    """The modes that were set at one broker, by topic and group."""

    def __init__(self) -> None:
        self._table: dict[str, dict[str, SetMessageRequestModeRequestBody]] = {}

    def set(self, topic: str, group: str, mode: SetMessageRequestModeRequestBody) -> None:
        self._table.setdefault(topic, {})[group] = mode

    def find(
        self, topic: str, group: str, config: BrokerConfig5
    ) -> SetMessageRequestModeRequestBody:
        """Return the mode of a group in a topic: what was set, or the broker's default.

        Source: broker/processor/QueryAssignmentProcessor.java#queryAssignment (5.5.0)
        """
        found = self._table.get(topic, {}).get(group)
        if found is not None:
            return found
        mode = PULL if topic.startswith(RETRY_PREFIX) else config.default_message_request_mode
        share = config.default_pop_share_queue_num if mode == POP else 0
        return SetMessageRequestModeRequestBody(
            topic=topic, consumer_group=group, mode=mode, pop_share_queue_num=share
        )

    def persisted(self) -> MessageRequestModeTable:
        """Return all modes as code 402 and messageRequestMode.json have them."""
        return MessageRequestModeTable(message_request_mode_map=self._table)

    def captured(self) -> Steps[MessageRequestModeTable]:
        """As `persisted` now: what is set between its steps is not in it."""
        table = {topic: dict(groups) for topic, groups in self._table.items()}
        return in_one_step(MessageRequestModeTable(message_request_mode_map=table))

    def load(self, saved: MessageRequestModeTable) -> None:
        """Replace all modes by those of a file."""
        self._table = {
            topic: dict(groups) for topic, groups in saved.message_request_mode_map.items()
        }

    def reset(self) -> None:
        self._table = {}
