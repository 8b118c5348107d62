"""SEND_MESSAGE_V2 (310): store one message; the header has one-letter names, the clients' default.

Behaviour: see `fakemq.broker.sending.send`. With ``m`` set the body is a batch here, too.
Ignored: ``n`` (the broker's name), ``a`` (the producer group).

Source: broker/processor/SendMessageProcessor.java#asyncSendMessage (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import handles
from fakemq.broker.sending.send import send
from fakemq.protocol import table

handles(table.SEND_MESSAGE_V2)(send)
