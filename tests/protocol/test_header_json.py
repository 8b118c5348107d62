"""The JSON header as Java writes it, and as laxly read as fastjson 1.2.69 does.

What stands here of laxness was asked of RemotingSerializable of 4.9.7.
"""

from __future__ import annotations

import pytest

from fakemq.protocol.codes import LanguageCode
from fakemq.protocol.command import FLAG_RESPONSE, RemotingCommand
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.header_json import decode_json_header, encode_json_header


def test_fields_are_in_javas_order() -> None:
    command = RemotingCommand(0, flag=FLAG_RESPONSE, opaque=35, remark='aé"', ext_fields={"k": ""})
    assert encode_json_header(command).decode() == (
        '{"code":0,"extFields":{"k":""},"flag":1,"language":"JAVA","opaque":35,'
        '"remark":"aé\\"","serializeTypeCurrentRPC":"JSON","version":407}'
    )


def test_ext_fields_are_always_written_and_remark_only_if_set() -> None:
    assert encode_json_header(RemotingCommand(34)).decode() == (
        '{"code":34,"extFields":{},"flag":0,"language":"JAVA","opaque":0,'
        '"serializeTypeCurrentRPC":"JSON","version":407}'
    )


def test_lone_surrogate_becomes_a_question_mark() -> None:
    command = RemotingCommand(1, remark="a\ud800", ext_fields={"\udc00": "x\ud800"})
    text = encode_json_header(command).decode()
    assert '"remark":"a?"' in text
    assert '"extFields":{"?":"x?"}' in text


def test_missing_fields_have_javas_defaults() -> None:
    command = decode_json_header(b"{}")
    assert command == RemotingCommand(0, version=0)


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ('"GO"', LanguageCode.GO),
        ('"Rust"', LanguageCode.RUST),
        ('"java"', LanguageCode.JAVA),
        ('"KLINGON"', LanguageCode.OTHER),
        ('""', LanguageCode.OTHER),
        ("null", LanguageCode.OTHER),
        ("3", LanguageCode.PYTHON),
    ],
)
def test_languages_are_read_by_name_and_number(language: str, code: LanguageCode) -> None:
    assert decode_json_header(b'{"language":%s}' % language.encode()).language is code


def test_invalid_language_number_is_an_error() -> None:
    with pytest.raises(RemoteProtocolError, match="no language has the number 99"):
        decode_json_header(b'{"language":99}')


def test_unquoted_and_single_quoted_names_are_read() -> None:
    command = decode_json_header(b"{code:10,'language':'GO',}")
    assert (command.code, command.language) == (10, LanguageCode.GO)


def test_ext_values_of_other_types_become_javas_strings() -> None:
    header = b'{"code":10,"extFields":{"a":1,"b":null,"c":true,"e":{"x":1},"f":[1,2]}}'
    assert decode_json_header(header).ext_fields == {
        "a": "1",
        "c": "true",
        "e": '{"x":1}',
        "f": "[1,2]",
    }


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ('{"code":"10"}', 10),
        ('{"code":null}', 0),
        ('{"code":""}', 0),
        ('{"code":10.9}', 10),
        ('{"code":1e3}', 1000),
        ('{"code":true}', 1),
        ('{"code":10,"code":11}', 11),
        (' \n{"code":10} ', 10),
    ],
)
def test_codes_are_converted_as_by_fastjson(header: str, code: int) -> None:
    assert decode_json_header(header.encode()).code == code


def test_remark_may_have_any_type() -> None:
    assert decode_json_header(b'{"remark":5}').remark == "5"
    assert decode_json_header(b'{"remark":{"q":1}}').remark == '{"q":1}'


def test_invalid_utf8_is_replaced() -> None:
    assert decode_json_header(b'{"remark":"a\xff"}').remark == "a�"


@pytest.mark.parametrize(
    "header",
    [
        "",
        "1",
        "null",
        "[]",
        '{"code":10',
        '{"code":"abc"}',
        '{"code":4294967296}',
        '{"extFields":[]}',
        '{"extFields":"x"}',
        '{"remark":' + "[" * 600 + "]" * 600 + "}",
        '{"other":' + '{"a":' * 5000 + "0" + "}" * 5001,
    ],
    ids=lambda header: header[:20],
)
def test_header_that_fastjson_refuses_closes_the_connection(header: str) -> None:
    with pytest.raises(RemoteProtocolError):
        decode_json_header(header.encode())
