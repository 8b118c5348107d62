"""The requests of sends: each has the fields of its own message."""

from __future__ import annotations

from fakemq.client.instance import ClientInstance
from fakemq.client.messages import Message
from fakemq.client.options import ClientConfig
from fakemq.client.producing.send_commands import PLAIN_FIELDS_MAX, SendCommands
from fakemq.client.producing.settings import ProducerSettings
from fakemq.protocol import properties as names
from fakemq.protocol.bodies.queue import MessageQueue

NOW_MS = 1_700_000_000_000


def commands() -> SendCommands:
    instance = ClientInstance("127.0.0.1:9876", ClientConfig(), ip="127.0.0.1", pid=7)
    settings = ProducerSettings(group="g", compress_over_bytes=100)
    return SendCommands(instance, settings, "g")


def fields(made: SendCommands, message: Message, queue_id: int = 0) -> dict[str, str]:
    queue = MessageQueue(topic=message.topic, broker_name="a", queue_id=queue_id)
    return made.single(message, message.topic, queue, NOW_MS).ext_fields


def test_fields_of_one_message_do_not_reach_the_next() -> None:
    made = commands()
    odd = Message("orders", bytes(1_000), flag=5)
    again = Message("%RETRY%orders", b"x", properties={names.RECONSUME_TIME: "2"})
    again.properties[names.MAX_RECONSUME_TIMES] = "3"
    assert {"e": "3", "f": "769", "h": "5"}.items() <= fields(made, odd, 3).items()
    assert {"j": "2", "l": "3"}.items() <= fields(made, again).items()
    for topic in ("orders", "%RETRY%orders"):
        plain = fields(made, Message(topic, b"x"))
        wanted = {"b": topic, "e": "0", "f": "0", "h": "0", "j": "0", "m": "false", "n": "a"}
        assert wanted.items() <= plain.items()
        assert "l" not in plain


def test_batch_is_marked_alone() -> None:
    made = commands()
    queue = MessageQueue(topic="orders", broker_name="a", queue_id=0)
    batch = made.batch(Message("orders", b"several"), "orders", queue, NOW_MS)
    assert batch.ext_fields["m"] == "true"
    assert fields(made, Message("orders", b"x"))["m"] == "false"


def test_fields_of_a_retry_keep_their_order() -> None:
    made = commands()
    again = Message("%RETRY%orders", b"x", properties={names.MAX_RECONSUME_TIMES: "3"})
    assert "".join(fields(made, again)) == "abcdefghijkmln"


def test_any_number_of_topics_has_its_own_fields() -> None:
    made = commands()
    for number in range(PLAIN_FIELDS_MAX + 2):
        assert fields(made, Message(f"t{number}", b"x"))["b"] == f"t{number}"
    assert fields(made, Message("t0", b"x"))["b"] == "t0"
