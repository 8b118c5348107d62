"""Properties as a real broker stored them: names of its own, odd separators, limits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypeAlias

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode
from tests.support.broker_lab import send_header
from tests.support.peer import Peer

Text: TypeAlias = "str | list[str | list[str | int]] | None"

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "data/java_properties.txt").read_text().splitlines()
    if not line.startswith("#")
]


def whole(text: Text) -> str | None:
    """The text that a line stands for: runs of one letter are written [letter, count]."""
    if not isinstance(text, list):
        return text
    return "".join(part if isinstance(part, str) else str(part[0]) * int(part[1]) for part in text)


def test_properties_are_stored_as_by_a_real_broker(broker: Broker, peer: Peer) -> None:
    wanted, stored, offset = [], [], 0
    for sent, code, kept in CASES:
        header = send_header("orders", properties=whole(sent))  # type: ignore[arg-type]
        response = peer.ask(RequestCode.SEND_MESSAGE_V2, header, b"x")
        wanted.append((sent, code, whole(kept)))
        text = None
        if response.code == 0:
            (message,) = broker.store.messages_in_queue("orders", 0, offset)
            text = message.properties_string
            offset += 1
        stored.append((sent, response.code, text))
    assert stored == wanted
    assert len(CASES) > 200


def test_invalid_delay_is_javas_exception(peer: Peer) -> None:
    response = peer.ask(RequestCode.SEND_MESSAGE_V2, send_header(properties="DELAY\x01abc"), b"x")
    assert response.code == 1
    assert (response.remark or "").startswith(
        'java.lang.NumberFormatException: For input string: "abc"'
    )
