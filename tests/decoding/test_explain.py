"""Bytes are explained field by field, and what is wrong with them has its offset."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fakemq
from fakemq.decoding.explain import KINDS, explain, kind_of, unwrapped
from fakemq.decoding.fields import Field, Item, Problem, Title
from fakemq.protocol.batch import BatchMember, encode_batch
from fakemq.protocol.command import FLAG_RESPONSE, RemotingCommand, SerializeType
from fakemq.protocol.frame import encode_frame
from fakemq.protocol.message import encode_record
from tests.support.captures import BROKER, CLIENT, SYN, Sent, pcap, pcapng
from tests.support.command_line import rows, run
from tests.support.grpc_bytes import from_client, from_server

HOST = ("127.0.0.1", 10911)
SEND = RemotingCommand(
    10, ext_fields={"producerGroup": "g", "topic": "orders", "defaultTopic": "TBW102",
                    "defaultTopicQueueNums": "4", "queueId": "3", "sysFlag": "0",
                    "bornTimestamp": "1700000000000", "flag": "0"},
    body=b"hello", opaque=7,
)  # fmt: skip
ANSWER = RemotingCommand(
    0, ext_fields={"msgId": "AA", "queueId": "3", "queueOffset": "5"}, opaque=7, flag=FLAG_RESPONSE
)
RECORD = encode_record(
    "orders", b"body", "KEYS\x01k\x02", queue_id=2, born_host=HOST, store_host=HOST,
    store_timestamp_ms=1_700_000_000_000,
)  # fmt: skip


def fields(items: list[Item]) -> dict[str, Field]:
    return {one.name: one for one in items if isinstance(one, Field)}


def problems(items: list[Item]) -> list[tuple[int, str]]:
    return [(one.offset, one.text) for one in items if isinstance(one, Problem)]


@pytest.mark.parametrize("serialize_type", list(SerializeType))
def test_request_and_response_have_every_field(serialize_type: SerializeType) -> None:
    send = RemotingCommand(10, ext_fields=SEND.ext_fields, body=b"hello", opaque=7)
    send.serialize_type = serialize_type
    data = encode_frame(send)
    items = list(explain(data + encode_frame(ANSWER), "frame"))
    assert not problems(items)
    first = fields(items[: [*map(str, items)].index(str(Title(len(data), "frame 1")))])
    assert first["length"] == Field(0, 4, "length", len(data) - 4)
    assert first["code"].note == "SEND_MESSAGE"
    assert (first["topic"].value, first["topic"].depth) == ("orders", 2)
    assert first["flag"].value in (0, "0")
    assert first["body"] == Field(len(data) - 5, 5, "body", "hello")
    place = first["topic"].offset
    assert data[place : place + 20].find(b"topic") in (1, 2), "the place of its name"
    second = fields(items[[*map(str, items)].index(str(Title(len(data), "frame 1"))) :])
    assert (second["code"].note, second["flag"].note) == ("SUCCESS", "response")
    assert second["answers"].note == "SEND_MESSAGE"


def test_record_has_every_field_and_its_properties() -> None:
    items = list(explain(RECORD, "record"))
    assert not problems(items)
    found = fields(items)
    assert found["total_size"].value == len(RECORD)
    assert found["magic_code"].note == "0xDAA320A7"
    assert found["store_host"].note == "127.0.0.1:10911"
    assert found["store_timestamp"].note == "2023-11-14 22:13:20.000"
    assert RECORD[found["KEYS"].offset :].startswith(b"KEYS\x01k")
    sizes = [one.size for one in items if isinstance(one, Field) and not one.depth]
    assert sum(sizes) == len(RECORD), "every byte belongs to one field"


@pytest.mark.parametrize(
    ("data", "offset", "text"),
    [
        (b"GET / HTTP/1.1", 0, "an HTTP request"),
        (struct.pack(">IB3s", 40, 9, b"\0\0\0") + b"x" * 36, 4, "serialize_type is 9; 0 (JSON)"),
        (struct.pack(">IB3s", 40, 0, b"\0\0\x50") + b"x" * 36, 5, "header_length is 80, but"),
        (struct.pack(">IB3s", 12, 0, b"\0\0\x08") + b'{"code":', 16, "header: no JSON"),
        (struct.pack(">IB3s", 6, 0, b"\0\0\x02") + b"[]", 8, "header: expected a JSON object"),
        (encode_frame(SEND)[:-2], None, "the frame has"),
        (b"\0\0", 0, "2 bytes are left; a frame begins with 4"),
        (RECORD[:4] + b"\0\0\0\1" + RECORD[8:], 4, "magic_code is 0x00000001; expected 0xDAA320A7"),
        (RECORD[:8] + b"\0\0\0\1" + RECORD[12:], 8, "body_crc is 1, but that of the body is"),
        (struct.pack(">i", 999) + RECORD[4:], 0, "total_size is 999; expected 91 or more"),
        (RECORD[:84] + struct.pack(">i", 400) + RECORD[88:], 84, "body_length is 400; 20 bytes"),
        (RECORD[:92] + b"\x03" + RECORD[93:], None, ""),
    ],
)  # fmt: skip
def test_bad_byte_is_found_at_its_offset(data: bytes, offset: int | None, text: str) -> None:
    items = list(
        explain(data, "record" if data[4:8] == RECORD[4:8] or b"KEYS" in data else "frame")
    )
    found = problems(items)
    assert found
    assert offset in (None, found[0][0])
    assert found[0][1].startswith(text) or text in found[0][1]


def test_request_without_a_field_of_its_header_is_wrong() -> None:
    without = dict(SEND.ext_fields, queueId="three")
    del without["topic"]
    items = list(explain(encode_frame(RemotingCommand(10, ext_fields=without)), "frame"))
    assert [text for _, text in problems(items)] == [
        "SendMessageRequestHeader needs topic, which is not there",
        "queueId is 'three'; SendMessageRequestHeader expects a number",
    ]


def test_bodies_of_pulls_and_batches_are_explained() -> None:
    pulled = RemotingCommand(0, ext_fields={}, body=RECORD * 2, opaque=1, flag=FLAG_RESPONSE)
    items = list(explain(encode_frame(pulled), "frame"))
    assert [one.text for one in items if isinstance(one, Title)] == [
        "frame 0",
        "record 0",
        "record 1",
    ]
    batch = encode_batch([BatchMember(b"one", b"TAGS\x01a\x02", 0), BatchMember(b"two", b"", 0)])
    request = RemotingCommand(320, ext_fields={}, body=batch)
    items = list(explain(encode_frame(request), "frame"))
    bodies = [one.value for one in items if isinstance(one, Field) and one.name == "body"][1:]
    assert bodies == ["one", "two"]


@pytest.mark.parametrize("link", [0, 1, 101, 113])
@pytest.mark.parametrize("order", ["<", ">"])
def test_capture_is_put_together(link: int, order: str) -> None:
    request, answer = encode_frame(SEND), encode_frame(ANSWER)
    segments = [
        Sent(CLIENT, BROKER, 2**32 - 10, flags=SYN),
        Sent(BROKER, CLIENT, 500, flags=SYN),
        Sent(CLIENT, BROKER, 2**32 - 9, request[:30]),  # the numbers begin again behind it
        Sent(CLIENT, BROKER, 91, request[100:]),  # before the one that it follows
        Sent(CLIENT, BROKER, 2**32 - 9, request[:30]),  # again
        Sent(CLIENT, BROKER, 21, request[30:100]),
        Sent(BROKER, CLIENT, 501, answer),
    ]
    for data in (pcap(segments, order=order, link=link), pcapng(segments)):
        assert kind_of(data) == "capture"
        items = list(explain(data, "capture"))
        assert not problems(items)
        titles = [one.text for one in items if isinstance(one, Title)]
        assert titles == [
            f"127.0.0.1:40000 > 127.0.0.1:10911, {len(request)} bytes",
            "frame 0, 1970-01-01 00:16:40.002",
            f"127.0.0.1:10911 > 127.0.0.1:40000, {len(answer)} bytes",
            "frame 0, 1970-01-01 00:16:40.006",
        ]
        assert fields(items)["answers"].note == "SEND_MESSAGE"


def test_capture_from_the_middle_begins_with_the_next_frame() -> None:
    request = encode_frame(SEND)
    segments = [
        Sent(CLIENT, BROKER, 1, request[-40:] + request),
        Sent(CLIENT, BROKER, 1000, request),
    ]
    items = list(explain(pcap(segments), "capture"))
    assert [one.text for one in items if isinstance(one, Title)][:3] == [
        f"127.0.0.1:40000 > 127.0.0.1:10911, {40 + 2 * len(request)} bytes",
        "40 bytes of a frame whose begin the capture does not have",
        "frame 0, 1970-01-01 00:16:40.000",
    ]
    assert [text for _, text in problems(items)] == [
        f"the capture has lost {999 - 40 - len(request)} bytes of this direction"
    ]


@pytest.mark.parametrize(
    "tool", [["xxd"], ["xxd", "-p"], ["hexdump", "-C"], ["od", "-Ax", "-tx1", "-v"]]
)
def test_dump_of_a_tool_stands_for_its_bytes(tool: list[str], tmp_path: Path) -> None:
    if shutil.which(tool[0]) is None:
        pytest.skip(f"no {tool[0]} here")
    for data in (encode_frame(SEND), RECORD, bytes(range(48))):
        (tmp_path / "f").write_bytes(data)
        text = subprocess.run([*tool, tmp_path / "f"], capture_output=True, check=True).stdout
        assert unwrapped(text) == data


@given(st.binary(min_size=1, max_size=100))
def test_hex_digits_stand_for_bytes(data: bytes) -> None:
    assert unwrapped(data.hex().encode()) == data
    assert unwrapped(data.hex(" ").upper().encode()) == data


@given(st.data(), st.sampled_from(KINDS))
def test_any_bytes_are_explained_or_wrong(data: st.DataObject, kind: str) -> None:
    whole = data.draw(
        st.sampled_from(
            [
                *(encode_frame(SEND), RECORD * 2, from_client(), from_server()),
                pcap([Sent(CLIENT, BROKER, 1, encode_frame(SEND))]),
            ]
        )
    )
    at = data.draw(st.integers(0, len(whole)))
    changed = (
        whole[:at] + data.draw(st.binary(max_size=8)) + whole[at + data.draw(st.integers(0, 8)) :]
    )
    for item in explain(changed, kind):
        assert 0 <= item.offset <= len(changed)


def test_files_of_a_store_are_known_by_their_names(tmp_path: Path) -> None:
    with fakemq.Cluster(
        topics={"orders": 1}, store=tmp_path, config={"mappedFileSizeCommitLog": 1 << 16}
    ) as mq:
        mq.seed("orders", ["one", "two"], keys="k")
    (log,) = (tmp_path / "broker-a-0" / "commitlog").iterdir()
    (queue,) = (tmp_path / "broker-a-0" / "consumequeue" / "orders" / "0").iterdir()
    found = rows("decode", str(log))
    assert [row["value"] for row in found if row.get("name") == "body"] == ["one", "two"]
    found = rows("decode", str(queue), "--limit", "2")
    sizes = [row["value"] for row in found if row.get("name") == "size"]
    physical = [row["value"] for row in found if row.get("name") == "physical_offset"]
    assert physical == [0, sizes[0]]
    checkpoint = rows("decode", str(tmp_path / "broker-a-0" / "checkpoint"))
    assert checkpoint[1]["name"] == "physic_msg_timestamp"


def test_command_reads_digits_files_and_standard_input(tmp_path: Path) -> None:
    data = encode_frame(SEND)
    (tmp_path / "frame").write_bytes(data)
    by_file = run("decode", str(tmp_path / "frame")).stdout
    assert by_file == run("decode", data.hex()).stdout == run("decode", stdin=data).stdout
    assert "00000000      4  length" in by_file
    broken = run("decode", "--skip", "1", str(tmp_path / "frame"), exit_code=1).stdout
    assert broken.startswith("00000001  -- frame 0\n")
    assert "00000009  WRONG: the frame has 71428 bytes by its length; 282 are there" in broken
    assert run("decode", stdin=b"", exit_code=2).stderr == "Error: standard input: it is empty\n"
    missing = run("decode", "nothing-here", exit_code=2).stderr
    assert missing.startswith("Error: nothing-here: No such file or directory; expected a file")
