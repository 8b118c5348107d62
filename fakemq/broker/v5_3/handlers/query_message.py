"""QUERY_MESSAGE (12): return messages of a topic by a key, or by their unique key: as in 4.9.7.

Source: broker/processor/QueryMessageProcessor.java#queryMessage (5.3.2)
"""

from __future__ import annotations

from fakemq.broker.handlers.query_message import query_message
from fakemq.broker.v5_3.broker import handles
from fakemq.protocol import table

handles(table.QUERY_MESSAGE)(query_message)
