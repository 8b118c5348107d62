"""Messages before they are sent: bodies and properties."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fakemq.client import Client, messages
from fakemq.client.messages import Message, SendStatus, compress, pulled_messages, viewed_messages
from fakemq.config.checked import payloads
from fakemq.errors import ArgumentError, ConfigError
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.limits import MESSAGE_BODY_MAX_BYTES
from fakemq.protocol.message import encode_record
from tests.support.calls import calls_of

HOST = ("127.0.0.1", 1)


def test_text_is_utf8_and_wait_is_always_set() -> None:
    message = Message("orders", "é", tags="t")
    assert message.body == b"\xc3\xa9"
    assert (message.tags, message.keys, message.unique_id) == ("t", "", "")
    assert message.properties == {"TAGS": "t", "WAIT": "true"}
    assert repr(message).startswith("<message to orders, 2 bytes")


def test_body_of_bytes_is_sent_unchanged() -> None:
    body = b"a" * 5000
    record = encode_record(
        "orders", compress(body), "", queue_id=0, sys_flag=0x301, born_host=HOST, store_host=HOST
    )
    assert [one.body for one in pulled_messages(record * 2, "a")] == [body, body]


@pytest.mark.parametrize("body", [5, 2**40, None, {"a": 1}, [1], 1.5])
def test_body_of_another_type_is_refused(body: Any) -> None:
    with pytest.raises(TypeError, match="expected bytes or text"):
        Message("orders", body)


def test_keys_are_words_joined_by_blanks() -> None:
    assert Message("orders", b"x", keys=["o-1", "c-7"]).keys == "o-1 c-7"
    assert Message("orders", b"x", keys="o-1 c-7").properties["KEYS"] == "o-1 c-7"


def test_delay_level_is_the_property_of_java() -> None:
    message = Message("orders", b"x", delay_level=3)
    assert message.properties["DELAY"] == "3"
    assert message.delay_level == 3
    assert Message("orders", b"x").delay_level == 0
    assert Message("orders", b"x", properties={"DELAY": "soon"}).delay_level == 0


@pytest.mark.parametrize("level", [-1, 2**31, 1.5, "3"])
def test_delay_level_that_no_broker_has_is_refused(level: Any) -> None:
    with pytest.raises(ConfigError, match="delay_level"):
        Message("orders", b"x", delay_level=level)


def test_send_status_equals_its_name_and_prints_with_its_type() -> None:
    assert SendStatus.SEND_OK == "SEND_OK"
    assert str(SendStatus.SEND_OK) == f"{SendStatus.SEND_OK}" == "SendStatus.SEND_OK"


@pytest.mark.parametrize("offset", [-1, 2**63 - 1])
def test_offset_that_no_queue_has_is_refused(offset: int) -> None:
    record = encode_record(
        "orders", b"a", "", queue_id=0, queue_offset=offset, born_host=HOST, store_host=HOST
    )
    with pytest.raises(RemoteProtocolError, match="an offset that no queue has"):
        pulled_messages(record, "a")


def test_bodies_of_one_answer_unpack_to_a_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "UNPACKED_MAX_BYTES", 12_000)
    record = encode_record(
        "orders", compress(b"a" * 5000), "", queue_id=0, sys_flag=1, born_host=HOST, store_host=HOST
    )
    assert len(pulled_messages(record * 2, "a")) == 2
    with pytest.raises(RemoteProtocolError, match="unpacks to over 2000 bytes"):
        pulled_messages(record * 3, "a")


BOMB = compress(bytes(MESSAGE_BODY_MAX_BYTES + 1))


@pytest.mark.parametrize(
    ("body", "reason"),
    [(b"notzlib", "is no zlib"), (BOMB, "unpacks to over 67108864 bytes")],
    ids=["not zlib", "too large"],
)
def test_body_that_cannot_be_unpacked_is_left_out_of_a_pull_and_logged(
    body: bytes, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    def record(offset: int, body: bytes) -> bytes:
        return encode_record(
            "orders",
            body,
            "",
            queue_id=3,
            queue_offset=offset,
            sys_flag=1,
            born_host=HOST,
            store_host=HOST,
        )

    data = record(0, compress(b"before")) + record(1, body) + record(2, compress(b"behind"))
    assert [one.body for one in pulled_messages(data, "broker-a")] == [b"before", b"behind"]
    (text,) = caplog.messages
    assert "topic=orders, broker=broker-a, queueId=3, queueOffset=1: " in text
    assert reason in text
    with pytest.raises(RemoteProtocolError, match=reason):
        viewed_messages(data)


def test_tags_and_keys_are_set_as_properties() -> None:
    message = Message("orders", b"x", tags="paid", keys="o-1")
    message.tags, message.keys = "open", ""
    assert (message.tags, message.keys) == ("open", "")
    assert "KEYS" not in message.properties
    wrong: Any = 5
    with pytest.raises(TypeError, match="tags=5: expected text"):
        message.tags = wrong
    with pytest.raises(TypeError, match=r"keys has .* separate properties"):
        message.keys = "a\x01b"


HALF = "caf\ud800"
TEXTS: dict[str, tuple[str, Callable[[], object]]] = {
    "topic": ("topic", lambda: Message(HALF, b"x")),
    "body": ("the body", lambda: Message("orders", HALF)),
    "tags": ("tags", lambda: Message("orders", b"x", tags=HALF)),
    "keys": ("keys", lambda: Message("orders", b"x", keys=["k", HALF])),
    "value": ("properties has 'a': its value", lambda: Message("o", b"x", properties={"a": HALF})),
    "name": (
        "properties has 'caf.*': its name",
        lambda: Message("o", b"x", properties={HALF: "a"}),
    ),
    "seeded": ("body 1", lambda: payloads(["x", HALF])),
}


@pytest.mark.parametrize("where", TEXTS)
def test_half_a_surrogate_pair_is_refused_by_the_name_of_its_argument(where: str) -> None:
    name, make = TEXTS[where]
    with pytest.raises(ArgumentError, match=rf"^{name}: character \d is '.ud800', half a surrog"):
        make()


def test_texts_that_were_set_later_are_looked_at_too() -> None:
    message = Message("orders", b"x")
    with pytest.raises(ArgumentError, match=r"^tags: character 3 is"):
        message.tags = HALF
    message.properties["a"] = HALF
    with pytest.raises(ArgumentError, match=r"^properties has 'a': its value: character 3 is"):
        message.require_valid()


def test_argument_behind_the_body_is_wanted_by_name() -> None:
    message: Any = Message
    with pytest.raises(ArgumentError, match="'paid': expected it by its name, such as tags='paid'"):
        message("orders", b"x", "paid")


@pytest.mark.parametrize("method", ["send", "send_oneway", "send_half"])
def test_client_wants_a_message(method: str) -> None:
    client: Any = Client("127.0.0.1:1")
    send = getattr(client, method)
    wanted = r"expected one Message, such as Message\('orders', b'x'\), not a topic and a body"
    with pytest.raises(ArgumentError, match=wanted):
        send("orders", b"x")
    with pytest.raises(ArgumentError, match="expected a Message, not None"):
        send(None)
    with pytest.raises(ArgumentError, match="'t': expected it by its name"):
        send(Message("orders", b"x"), "t")
    client.close()


def test_client_wants_messages_in_a_batch() -> None:
    client: Any = Client("127.0.0.1:1")
    with pytest.raises(ArgumentError, match="expected a Message, not 'orders'"):
        client.send_batch(["orders", b"x"])
    client.close()


def test_many_bodies_are_checked_without_a_call_for_each() -> None:
    bodies: list[bytes | str] = ["x", "é", b"y"]
    bodies *= 1_000
    assert calls_of(lambda: payloads(bodies)) < 10
    assert payloads(bodies)[:3] == [b"x", b"\xc3\xa9", b"y"]
