"""protocol/speedups.c, built for tests, and compared with the Python that does the same.

``python -m tests.support.speedups MODULE SECONDS`` compares a built module on the inputs of the
fuzzers, and on changed ones, for that long. Under AddressSanitizer a read or a write beyond an
object ends it.
"""

from __future__ import annotations

import importlib.util
import random
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from types import ModuleType

import msgspec

from fakemq.protocol import native
from fakemq.protocol.command import RemotingCommand, SerializeType
from fakemq.protocol.frame import encode_frame
from fakemq.protocol.header_binary import decode_binary_header
from fakemq.protocol.header_json import decode_usual_json_header
from fakemq.protocol.hosts import pack_host
from fakemq.protocol.plain_properties import StoredForm
from fakemq.protocol.properties import CLUSTER, WAIT_STORE_MSG_OK, encode_properties_as_java
from fakemq.protocol.usual_headers import ACTED_ON, take_usual_header
from fakemq.protocol.v5.properties import READ_BUCKETS, encode_properties
from fakemq.store import commitlog
from fakemq.store.inner_message import InnerMessage
from tests.fuzz import corpus
from tests.support.usual_requests import REQUESTS, SEND

SOURCE = Path(__file__).parents[2] / "protocol" / "speedups.c"
SANITIZED = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")

FORMS = (
    StoredForm(
        {CLUSTER: "DefaultCluster"},
        WAIT_STORE_MSG_OK,
        encode_properties_as_java,
        buckets=16,
        ends=False,
    ),
    StoredForm(
        {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true", CLUSTER: "c"},
        "",
        encode_properties,
        buckets=READ_BUCKETS,
        ends=True,
    ),
)
"""Of 4.9.7 and of 5.5.0."""


def frame_of(code: int, fields: dict[str, str], kind: SerializeType) -> bytes:
    """Return a request as a client writes it: the code first, and no remark."""
    command = RemotingCommand(code, fields, b"body", opaque=5, version=513, serialize_type=kind)
    return encode_frame(command)


USUAL = [
    frame_of(code, fields, kind) for code, fields in REQUESTS.items() for kind in SerializeType
]


def why_not_built(folder: Path, *options: str) -> str:
    """Build the module in a folder; return why that failed, "" if it did not."""
    compiler = shutil.which("cc")
    if compiler is None:
        return "no C compiler"
    include = sysconfig.get_path("include")
    if not Path(include, "Python.h").is_file():
        return f"no Python.h in {include}"
    flags = ("-shared", "-fPIC", "-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter")
    command = [compiler, *flags, f"-I{include}", *options, str(SOURCE), "-o", str(built(folder))]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stderr if done.returncode else ""


def built(folder: Path) -> Path:
    """Return where `why_not_built` puts the module."""
    return folder / "speedups.so"


def load(path: Path) -> ModuleType:
    """Return a built module that knows what it needs."""
    spec = importlib.util.spec_from_file_location("speedups", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    native.teach(module)
    return module


# -- the same by C and by Python -------------------------------------------------------------------


def by_python(frame: bytes) -> RemotingCommand:
    """Return the command of a whole frame, decoded by Python."""
    kind, header_end = frame[4], 8 + int.from_bytes(frame[5:8], "big")
    if kind == SerializeType.JSON:
        return decode_usual_json_header(frame[8:header_end], frame[header_end:])
    command = decode_binary_header(frame, 8, header_end)
    command.body = frame[header_end:]
    take_usual_header(command)
    return command


def check_frames(module: ModuleType, data: bytes) -> int:
    """Compare the commands of usual frames at the begin of ``data``; return their number."""
    commands: list[RemotingCommand] = []
    end, start = module.usual_frames(data, 0, commands), 0
    for command in commands:
        size = 4 + int.from_bytes(data[start : start + 4], "big")
        assert fields_of(command) == fields_of(by_python(data[start : start + size]))
        start += size
    assert start == end <= len(data)
    return len(commands)


def fields_of(command: RemotingCommand) -> list[object]:
    """Return the fields, and the types of those that may have several."""
    assert command.usual is not None
    values = msgspec.structs.astuple(command.usual)
    return [
        *(command.code, command.ext_fields, command.body, command.flag, command.opaque),
        *(command.remark, command.language, command.version, command.serialize_type),
        *(type(command.language), type(command.usual), values, list(map(type, values))),
    ]


def check_properties(module: ModuleType, text: str) -> int:
    """Compare what the store wants of properties; return in how many forms C had an answer."""
    answered = 0
    for form in FORMS:
        found = module.plain_properties(text, form.text, form.without, form.buckets, form.ends)
        if found is not None:
            assert found == form.of_any(text)
            answered += 1
    return answered


def check_record(
    module: ModuleType, message: InnerMessage, properties: bytes, place: tuple[int, int, int, int]
) -> None:
    """Compare a record, its entry in a queue and its id; ``place``: offsets, store time, code."""
    queue_offset, phy_offset, now_ms, code = place
    topic, born = message.topic.encode(), pack_host(message.born_host)
    store = pack_host(message.store_host)
    size = 75 + len(message.body) + len(properties) + len(topic) + len(born) + len(store)
    draft = (message.flag, message.body, properties, size, code, "")
    packed = bytes([len(topic)]) + topic
    expected = commitlog._packed(message, [draft], queue_offset, phy_offset, packed, store, now_ms)
    found = module.record(
        *(message.body, properties, packed, born, store, code, message.queue_id, message.flag),
        *(queue_offset, phy_offset, message.sys_flag, message.born_timestamp_ms, now_ms),
        *(message.reconsume_times, message.prepared_transaction_offset),
    )
    assert found == expected


# -- many inputs -----------------------------------------------------------------------------------


def inputs() -> list[bytes]:
    """Return the usual frames, the fuzzers' inputs, and their headers as frames."""
    found = [*USUAL, *corpus.load("frame")]
    for kind, target in enumerate(("json_header", "binary_header")):
        for header in corpus.load(target):
            size = len(header)
            found.append((4 + size).to_bytes(4) + bytes([kind]) + size.to_bytes(3) + header)
    return found


def texts() -> list[str]:
    """Return properties: of the fuzzers, and with each name on which a broker acts."""
    found = [data.decode("utf-8", "replace") for data in corpus.load("properties")]
    found += [f"UNIQ_KEY\x01A\x02{name}\x011" for name in sorted(ACTED_ON)]
    return [
        *found,
        SEND["i"],
        "KEYS\x01a b\x02WAIT\x01false\x02",
        *(f"k{n}\x01v" for n in range(9)),
    ]


def changed(data: bytes, draw: random.Random) -> bytes:
    """Return ``data`` with a few bytes changed, left out, or put in twice."""
    made = bytearray(data)
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(made) + 1)
        end = at + draw.randint(0, 4)
        made[at:end] = draw.choice(
            [draw.randbytes(draw.randint(0, 3)), bytes(made[at:end]) * 2, b"\xff\xff\xff\xff", b""]
        )
    return bytes(made)


def explore(module: ModuleType, seconds: float) -> tuple[int, int]:
    """Compare for some seconds; return how often, and how many requests were usual."""
    draw = random.Random(1)
    frames, properties = inputs(), texts()
    runs = usual = 0
    ends = time.monotonic() + seconds
    for data in frames:
        usual += check_frames(module, data)
    for text in properties:
        check_properties(module, text)
    while time.monotonic() < ends:
        first = changed(draw.choice(frames), draw)
        usual += check_frames(module, draw.choice(USUAL) + first + draw.choice(USUAL))
        text = changed(draw.choice(properties).encode(), draw).decode("utf-8", "replace")
        check_properties(module, text)
        runs += 1
    return runs, usual


def main(arguments: list[str]) -> None:
    """Explore, and print how much was done."""
    path, seconds = arguments
    runs, usual = explore(load(Path(path)), float(seconds))
    print(f"{runs} inputs, {usual} usual requests, no difference")


if __name__ == "__main__":
    main(sys.argv[1:])
