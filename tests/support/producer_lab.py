"""A producer on a `ScriptedCarrier`, with one or two brokers that accept what it sends."""

from __future__ import annotations

from collections.abc import Callable

from fakemq.client.instance import ClientInstance
from fakemq.client.messages import Message
from fakemq.client.operation import Call
from fakemq.client.options import ClientConfig
from fakemq.client.producing.producer import ProducerCore
from fakemq.client.producing.settings import ProducerSettings
from fakemq.client.services import ClientServices
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.headers.send import SendMessageRequestHeaderV2
from fakemq.protocol.properties import decode_properties
from tests.support.scripted_carrier import Outcome, ScriptedCarrier
from tests.support.scripted_operation import NAMESRV, answer, route, sent

CLIENT = "10.0.0.1@7"
SENDS = (
    RequestCode.SEND_MESSAGE_V2,
    RequestCode.SEND_BATCH_MESSAGE,
    RequestCode.SEND_REPLY_MESSAGE_V2,
)


class ProducerLab:
    """Brokers ``a`` and ``b``, a client of them, and its producers.

    A function in ``answers``, by request code, is asked first; None lets the brokers answer.
    """

    def __init__(self, *brokers: str, topics: tuple[str, ...] = ("orders",), **config: object):
        self.brokers = brokers or ("a",)
        self.topics = set(topics)
        self.answers: dict[int, Callable[[Call], Outcome | None]] = {}
        self.carrier = ScriptedCarrier(self._answer)
        options = ClientConfig(seed=1, **{"client_id": CLIENT, **config})  # type: ignore[arg-type]
        instance = ClientInstance(NAMESRV, options, time=self.carrier.time, ip="10.0.0.1", pid=7)
        self.services = ClientServices(instance, self.carrier)

    def producer(self, group: str = "billing", **settings: object) -> ProducerCore:
        """A producer that was not started."""
        return ProducerCore(
            self.services,
            ProducerSettings(group=group, **settings),  # type: ignore[arg-type]  # the test's own
        )

    def started(self, group: str = "billing", **settings: object) -> ProducerCore:
        """A producer that runs."""
        producer = self.producer(group, **settings)
        self.carrier.run(producer.start())
        return producer

    def sends(self) -> list[tuple[str, SendMessageRequestHeaderV2, bytes]]:
        """What was sent: addresses, headers and bodies."""
        return [
            (
                call.addr,
                SendMessageRequestHeaderV2.decode(call.command.ext_fields),
                call.command.body,
            )
            for call in self.carrier.calls
            if call.command.code in SENDS
        ]

    def last_properties(self) -> dict[str, str]:
        """The properties of the last message that was sent."""
        return decode_properties(self.sends()[-1][1].properties or "")

    def _answer(self, call: Call) -> Outcome:
        asked = self.answers.get(call.command.code)
        outcome = None if asked is None else asked(call)
        if outcome is not None:
            return outcome
        if call.command.code == RequestCode.GET_ROUTEINFO_BY_TOPIC:
            known = call.command.ext_fields["topic"] in self.topics
            return (
                answer(body=route(*self.brokers)) if known else answer(ResponseCode.TOPIC_NOT_EXIST)
            )
        if call.command.code in SENDS:
            return sent(int(call.command.ext_fields["e"]), 7)
        return answer()


def order(body: bytes | str = b"paid", **options: object) -> Message:
    return Message("orders", body, **options)  # type: ignore[arg-type]  # the test's own choice
