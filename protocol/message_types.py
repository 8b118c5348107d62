"""The message types of topics, an attribute that they have since RocketMQ 5.

Source: common/attribute/TopicMessageType.java, common/TopicAttributes.java (5.5.0)
"""

from __future__ import annotations

from typing import Final

MESSAGE_TYPE: Final = "message.type"
"""The name of the attribute."""
NORMAL: Final = "NORMAL"
"""What a topic without the attribute is for."""
MIXED: Final = "MIXED"
MESSAGE_TYPES: Final = (
    *("UNSPECIFIED", NORMAL, "FIFO", "DELAY", "TRANSACTION", "PRIORITY", "LITE", MIXED),
)
