"""What the attack on requests sends is what it claims to send."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from fakemq.protocol.codes import RequestCode
from fakemq.protocol.frame import decode_frame
from fakemq.protocol.v5 import table
from tests.attack.hostile_frames import Form, HostileFrames
from tests.attack.hostile_names import HostileNames

FORM = Form(310, {"a": "group", "b": "名"}, b"body", opaque=7)


def frames_of(seed: int, *, spares_all: bool = True) -> HostileFrames:
    return HostileFrames(Random(seed), HostileNames(seed, Path("x")), [0, 165], spares_all)


def test_frames_of_one_seed_are_the_same() -> None:
    one, same, other = frames_of(1), frames_of(1), frames_of(2)
    sent = [one.frame() for _ in range(200)]
    assert sent == [same.frame() for _ in range(200)]
    assert sent != [other.frame() for _ in range(200)]
    assert [one.broken() for _ in range(50)] == [same.broken() for _ in range(50)]


@pytest.mark.parametrize("frame", [FORM.json_frame(), FORM.binary_frame()], ids=["json", "binary"])
def test_frame_written_by_hand_decodes_to_its_form(frame: bytes) -> None:
    command = decode_frame(memoryview(frame))
    assert (command.code, command.opaque, command.body) == (310, 7, b"body")
    assert command.ext_fields == FORM.fields


def test_frames_have_every_code_and_decode() -> None:
    frames = frames_of(3)
    codes = {decode_frame(memoryview(frames.frame())).code for _ in range(6_000)}
    assert codes >= set(RequestCode)
    assert {-1, 999} & codes


def test_frames_for_5_5_0_have_its_codes_too() -> None:
    frames = HostileFrames(Random(3), HostileNames(3, Path("x")), [0, 165], True, "5.5.0")
    codes = {decode_frame(memoryview(frames.frame())).code for _ in range(9_000)}
    assert codes >= {row.code for row in table.rows()}


def test_frames_that_spare_all_name_no_broker_of_the_cluster() -> None:
    frames = frames_of(4)
    for _ in range(3_000):
        command = decode_frame(memoryview(frames.frame()))
        if command.code in (RequestCode.UNREGISTER_BROKER, RequestCode.REGISTER_BROKER):
            assert command.ext_fields.get("brokerName") != "broker-a"


def test_last_request_is_one_that_both_ports_answer() -> None:
    frame = frames_of(5).last(99)
    header = json.loads(frame[8 : 8 + int.from_bytes(frame[5:8])])
    assert (header["code"], header["opaque"]) == (RequestCode.GET_ROUTEINFO_BY_TOPIC, 99)
