"""LITE_PULL_MESSAGE (361): the PULL_MESSAGE of a DefaultLitePullConsumer.

Behaviour: as PULL_MESSAGE.
Refused: litePullMessageEnable=false: NO_PERMISSION.

Source: broker/processor/PullMessageProcessor.java#processRequest (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import handles
from fakemq.broker.v5.handlers.pull_message import pull_message
from fakemq.protocol import table

handles(table.LITE_PULL_MESSAGE)(pull_message)
