"""SEND_BATCH_MESSAGE (320): store many messages of one topic, sent in one body (header m=true).

Behaviour: see `fakemq.broker.sending.send`. Without ``m`` the body is one message.
Ignored: ``n`` (the broker's name), ``a`` (the producer group).

Source: broker/processor/SendMessageProcessor.java#asyncSendBatchMessage (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import handles
from fakemq.broker.sending.send import send
from fakemq.protocol import table

handles(table.SEND_BATCH_MESSAGE)(send)
