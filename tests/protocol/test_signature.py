"""Signatures of requests are those of Java."""

from __future__ import annotations

import base64
import hashlib
import hmac

from hypothesis import given
from hypothesis import strategies as st

from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.connection import Connection, client_connection
from fakemq.protocol.signature import Credentials, signature


def test_signature_is_javas() -> None:
    # Source: acl/src/test/…/AclSignerTest.java (4.9.7): calSignature("RocketMQ", "12345678")
    expected = base64.b64encode(hmac.new(b"12345678", b"RocketMQ", hashlib.sha1).digest()).decode()
    assert signature({"a": "Rocket", "b": "MQ"}, b"", "12345678") == expected


def test_names_are_sorted_as_java_compares_texts() -> None:
    # In UTF-16 the second name comes first: its first unit is a surrogate.
    fields = {"\uff5a": "1", "\U0001f600": "2"}
    assert signature(fields, b"", "12345678") == signature({"a": "21"}, b"", "12345678")


@given(
    st.dictionaries(st.text(max_size=5), st.text(max_size=8)),
    st.binary(max_size=20),
    st.text(min_size=1, max_size=9),
)
def test_signature_covers_every_field_and_the_body(
    fields: dict[str, str], body: bytes, secret: str
) -> None:
    command = RemotingCommand(10, ext_fields=dict(fields), body=body)
    Credentials("useruser", secret, "token").sign(command)
    signed = command.ext_fields["Signature"]
    assert signature(command.ext_fields, body, secret) == signed
    assert signature(command.ext_fields, body + b"x", secret) != signed
    assert signature({**command.ext_fields, "more": "x"}, body, secret) != signed
    Credentials("useruser", secret, "token").sign(command)
    assert command.ext_fields["Signature"] == signed, "signing again changes nothing"


def test_query_flag_is_not_signed() -> None:
    fields = {"topic": "T"}
    with_flag = {**fields, "_UNIQUE_KEY_QUERY": "true"}
    assert signature(with_flag, b"", "12345678") == signature(fields, b"", "12345678")


def test_connection_signs_requests_and_no_responses() -> None:
    connection = client_connection(Credentials("useruser", "12345678"))
    request, response = RemotingCommand(10), RemotingCommand(0, flag=1)
    decoded = Connection().receive_data(connection.encode(request) + connection.encode(response))
    assert decoded[0].ext_fields == {
        "AccessKey": "useruser",
        "Signature": signature({"AccessKey": "useruser"}, b"", "12345678"),
    }
    assert decoded[1].ext_fields == {}
    assert type(client_connection(None)) is Connection
