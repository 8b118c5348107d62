"""A slave's log compared with its master's."""

from __future__ import annotations

import pytest

from fakemq.sim.invariants.replicas import differences

FILE_BYTES = 16


class Bytes:
    """A log in files of 16 bytes that starts at an offset."""

    def __init__(self, text: bytes, min_offset: int = 0) -> None:
        self._text = text
        self.min_offset = min_offset
        self.max_offset = min_offset + len(text)

    def read_from(self, offset: int) -> memoryview | None:
        start = offset - self.min_offset
        end_of_file = FILE_BYTES - offset % FILE_BYTES
        return memoryview(self._text)[start : start + end_of_file]


MASTER = Bytes(bytes(range(100)))


@pytest.mark.parametrize(
    "slave",
    [
        MASTER,
        Bytes(bytes(range(40))),
        Bytes(bytes(range(32, 100)), 32),
        Bytes(bytes(range(100)) + b"not yet there"),
        Bytes(b""),
        Bytes(b"later", 200),
    ],
)
def test_common_bytes_are_equal(slave: Bytes) -> None:
    assert not list(differences("broker-a-1", MASTER, slave))


def test_first_difference_is_found_behind_equal_files() -> None:
    text = bytearray(range(100))
    text[70] = 0
    (violation,) = differences("broker-a-1", MASTER, Bytes(bytes(text)))
    assert violation.text == "broker-a-1 differs from its master at 70"


def test_bytes_lost_by_the_master_may_differ_at_its_slave() -> None:
    slave = Bytes(bytes(range(60)) + bytes(40))
    assert not list(differences("broker-a-1", MASTER, slave, safe_end=60))
    assert list(differences("broker-a-1", MASTER, slave, safe_end=61))
