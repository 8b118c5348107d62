"""speedups.c does what Python does, for any bytes, and reads no byte that is not there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakemq.protocol import native
from fakemq.protocol.command import SerializeType
from fakemq.protocol.plain_properties import StoredForm
from fakemq.store.inner_message import InnerMessage, inner_message
from tests.support import speedups
from tests.support.speedups import FORMS, USUAL
from tests.support.usual_requests import REQUESTS

ROOT = Path(__file__).parents[2]
NAMES = ["UNIQ_KEY", "KEYS", "TAGS", "WAIT", "CLUSTER", "DELAY", "a", "b", "Aa", "BB", "é", ""]
VALUES = ["true", "false", "True", "1", "", "paid", "é", "x" * 40, "a\x01b", "\ud800"]
TEXTS = [*("", "0", "-0", "7", "+7", "007", "1.0", "true"), "é", '"', "\\", "\x7f", "a\x01"]
IPS = ["127.0.0.1", "255.1.2.3", "::1", "2001:db8::7"]


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The functions of a build of their own; skip where there is no compiler."""
    folder = tmp_path_factory.mktemp("speedups")
    why = speedups.why_not_built(folder, "-O1")
    if why.startswith("no "):
        pytest.skip(why)
    assert not why
    return speedups.load(speedups.built(folder))


def test_usual_requests_are_decoded_in_c(module: ModuleType) -> None:
    assert [speedups.check_frames(module, data) for data in USUAL] == [1] * len(USUAL)
    assert speedups.check_frames(module, b"".join(USUAL)) == len(USUAL)


def test_second_lesson_replaces_the_first(module: ModuleType) -> None:
    native.teach(module)
    assert speedups.check_frames(module, USUAL[0]) == 1


@given(
    st.sampled_from(list(REQUESTS)),
    st.dictionaries(
        st.sampled_from([*"abcdefghijklmn", "queueId", "other", "\x01"]),
        st.sampled_from(TEXTS) | st.integers(-(2**64), 2**64).map(str) | st.text(),
        max_size=3,
    ),
    st.sets(st.sampled_from("abcdefghijklmn"), max_size=1),
    st.sampled_from(list(SerializeType)),
)
def test_requests_with_any_fields_are_the_same(
    module: ModuleType,
    code: int,
    other: dict[str, str],
    missing: set[str],
    kind: SerializeType,
) -> None:
    fields = {name: text for name, text in (REQUESTS[code] | other).items() if name not in missing}
    speedups.check_frames(module, speedups.frame_of(code, fields, kind))


@given(st.sampled_from(USUAL), st.integers(0, 500), st.integers(0, 4), st.binary(max_size=4))
def test_requests_with_any_bytes_are_the_same(
    module: ModuleType, data: bytes, at: int, cut: int, put: bytes
) -> None:
    speedups.check_frames(module, data[:at] + put + data[at + cut :] + USUAL[0])


@given(st.binary())
def test_any_bytes_are_the_same(module: ModuleType, data: bytes) -> None:
    speedups.check_frames(module, data)


def test_frame_that_is_cut_off_anywhere_is_left(module: ModuleType) -> None:
    for data in USUAL:
        for size in range(len(data)):
            assert speedups.check_frames(module, data[:size]) == 0


@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES)), max_size=14), st.booleans()
)
def test_properties_are_the_same(
    module: ModuleType, entries: list[tuple[str, str]], ends: bool
) -> None:
    text = "\x02".join(f"{name}\x01{value}" for name, value in entries)
    speedups.check_properties(module, text + ("\x02" if ends else ""))


@given(st.text(st.sampled_from("\x01\x02ABWAITé \ud800")))
def test_any_properties_are_the_same(module: ModuleType, text: str) -> None:
    speedups.check_properties(module, text)


@pytest.mark.parametrize("form", FORMS)
def test_usual_properties_are_plain(module: ModuleType, form: StoredForm) -> None:
    arguments = (form.text, form.without, form.buckets, form.ends)
    text = "UNIQ_KEY\x01FD00\x02WAIT\x01true\x02TAGS\x01paid\x02"
    assert module.plain_properties(text, *arguments)[1:] == (3433164, "FD00", False, True)
    assert module.plain_properties(text + "DELAY\x013", *arguments) is None
    assert form.of_any(text + "DELAY\x013") is None


INT32, INT64 = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
HOSTS = st.tuples(st.sampled_from(IPS), INT32)


@st.composite
def messages(draw: st.DrawFn) -> InnerMessage:
    born, store = draw(HOSTS), draw(HOSTS)
    v6 = 0x10 * (":" in born[0]) | 0x20 * (":" in store[0])
    return inner_message(
        draw(st.text("abc%", max_size=127)),
        draw(INT32),
        draw(st.binary()),
        flag=draw(INT32),
        sys_flag=draw(INT32) & ~0x30 | v6,
        born_timestamp_ms=draw(INT64),
        born_host=born,
        store_host=store,
        reconsume_times=draw(INT32),
        prepared_transaction_offset=draw(INT64),
    )


@given(messages(), st.binary(max_size=600), st.tuples(INT64, INT64, INT64, INT64))
def test_records_are_the_same(
    module: ModuleType,
    message: InnerMessage,
    properties: bytes,
    place: tuple[int, int, int, int],
) -> None:
    speedups.check_record(module, message, properties, place)


def test_record_with_a_number_that_has_no_room_is_refused(module: ModuleType) -> None:
    given = (b"", b"", b"\0", bytes(8), bytes(8), 0, 2**31, *[0] * 8)
    with pytest.raises(TypeError, match="record: wrong arguments"):
        module.record(*given)
    with pytest.raises(OverflowError):
        module.record(*given[:5], 2**63, *given[6:])
    with pytest.raises(TypeError):
        module.record(b"")


def test_variable_leaves_out_what_is_built() -> None:
    code = "from fakemq.protocol.native import usual_frames; print(usual_frames)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {native.PURE: "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "None\n", done.stderr


@pytest.mark.slow  # over a second: it compiles, and looks for differences for two seconds
def test_fuzzers_find_no_byte_read_outside(tmp_path: Path) -> None:
    """AddressSanitizer ends the process at the first one."""
    library = subprocess.run(
        ["cc", "-print-file-name=libasan.so"], capture_output=True, text=True
    ).stdout.strip()
    if not Path(library).is_absolute():
        pytest.skip("the C compiler has no AddressSanitizer")
    why = speedups.why_not_built(tmp_path, *speedups.SANITIZED)
    assert not why
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.speedups", str(speedups.built(tmp_path)), "2"],
        env=os.environ
        | {
            "LD_PRELOAD": library,
            "ASAN_OPTIONS": "detect_leaks=0",
            "PYTHONMALLOC": "malloc",  # each object is an allocation of its own
            native.PURE: "1",
            "PYTHONPATH": str(ROOT),
        },
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.endswith("no difference\n")
