"""A client that sends all kinds of messages, and what it was promised of each."""

from __future__ import annotations

import time
from contextlib import suppress
from itertools import count
from random import Random

from fakemq.client.blocking import Client
from fakemq.client.messages import Message, SendStatus
from fakemq.errors import FakemqError
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.properties import encode_properties_as_java
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.protocol.v5.codes import RequestCode5
from tests.attack.outside import QUEUES, SEND_MS, TOPIC, Ledger, stored
from tests.support.broker_lab import send_header
from tests.support.popper import Popper
from tests.support.pops import ack_header
from tests.support.promises import Promises
from tests.support.transactions import COMMIT, ROLLBACK, Half, end_header

COMES_S = 20.0
"""How long a message may take that comes later; all delays are a few seconds."""
_LONGEST_MS = 3_000


class MixedLedger(Ledger):
    """As `Ledger`; some messages are delayed, timed or in transactions, and some are popped.

    ``reference`` is that of the broker at ``addr``, ``name`` begins each body.
    """

    def __init__(self, name: str, reference: str) -> None:
        super().__init__()
        self.addr = ""
        self._bodies = (b"%s-%d:" % (name.encode(), number) for number in count())
        self._has_timers = reference != "4.9.7"

    def send(self, client: Client, random: Random, most_bytes: int = 20_000) -> bool:
        body = next(self._bodies) + random.randbytes(random.choice((1, 10, 300, most_bytes)))
        chance = random.random()
        self.sent.add(body)
        try:
            if chance < 0.15:
                return self._send_later(client, body, random)
            if chance < 0.3:
                return self._send_in_transaction(client, body, random)
            if chance < 0.4 and self._has_timers:
                self._pop(random)
            queue = MessageQueue(TOPIC, "broker-a", random.randrange(QUEUES))
            sent = client.send(Message(TOPIC, body), queue=queue, timeout_ms=SEND_MS)
        except FakemqError as error:
            self.refused += 1
            self.reason = str(error)
            return False
        if sent.status is not SendStatus.SEND_OK:
            self.reason = sent.status.name
            return False
        self.acknowledged[queue.queue_id, sent.queue_offset] = body
        return True

    def _send_later(self, client: Client, body: bytes, random: Random) -> bool:
        if self._has_timers:
            delay_ms = str(random.randrange(100, _LONGEST_MS))
            message = Message(TOPIC, body, properties={"TIMER_DELAY_MS": delay_ms})
        else:
            message = Message(TOPIC, body, delay_level=1)
        taken = client.send(message, timeout_ms=SEND_MS).status is SendStatus.SEND_OK
        self.later |= {body} if taken else set()
        return taken

    def _send_in_transaction(self, client: Client, body: bytes, random: Random) -> bool:
        ask = client.instance
        properties = {"TRAN_MSG": "true", "PGROUP": "producers", "UNIQ_KEY": body[:20].hex()}
        header = send_header(
            TOPIC,
            queue_id=random.randrange(QUEUES),
            properties=encode_properties_as_java(properties),
            sys_flag=MessageSysFlag.TRANSACTION_PREPARED_TYPE,
        )
        command = ask.command(RequestCode.SEND_MESSAGE_V2, header)
        command.body = body
        fields = client.run(ask.invoke_ok(self.addr, command)).ext_fields
        half = Half(int(fields["queueOffset"]), int(fields["msgId"][16:], 16))
        how = random.choice((COMMIT, COMMIT, ROLLBACK))
        end = end_header(half, how, producer_group="producers")
        client.run(ask.invoke_ok(self.addr, ask.command(RequestCode.END_TRANSACTION, end)))
        if how == COMMIT:
            self.later.add(body)
        return True

    def _pop(self, random: Random) -> None:
        with Popper("127.0.0.1:1") as popper, suppress(FakemqError):
            popper.addr = self.addr
            popped = popper.pop(max_msg_nums=4, invisible_time=1_000)
            for message in popped.messages[: random.randrange(4)]:
                popper.ask(RequestCode5.ACK_MESSAGE, ack_header(popped, message))


def broken_promises(client: Client, ledgers: list[MixedLedger]) -> list[str]:
    """Return a line for what is lost, what never comes, and what came and was never sent."""
    promised = Promises.of_all(ledgers)
    lost = promised.lost(stored(client))
    until_s = time.monotonic() + COMES_S
    while promised.missing(found := set(stored(client).values())) and time.monotonic() < until_s:
        time.sleep(0.1)  # the broker's clock is the machine's
    return lost + promised.missing(found) + promised.invented(found)
