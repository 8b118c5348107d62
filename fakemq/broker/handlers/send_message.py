"""SEND_MESSAGE (10): store one message; the header has long names.

Clients send it with sendSmartMsg=false.
Behaviour: see `fakemq.broker.sending.send`. With ``batch`` set the body is a batch here, too.
Ignored: ``bname``, ``producerGroup``.

Source: broker/processor/SendMessageProcessor.java#asyncSendMessage (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import handles
from fakemq.broker.sending.send import send
from fakemq.protocol import table

handles(table.SEND_MESSAGE)(send)
