"""HPACK, with the package hpack as the judge."""

from __future__ import annotations

import hpack
import pytest
from hpack.huffman import HuffmanEncoder
from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH
from hpack.huffman_table import decode_huffman
from hpack.table import HeaderTable
from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.protocol.http2.hpack import LIST_MAX_BYTES, STATIC, HeaderDecoder, HpackError, encode
from fakemq.protocol.http2.huffman import HuffmanError
from fakemq.protocol.http2.huffman import decode as unhuffman

HUFFMAN = HuffmanEncoder(REQUEST_CODES, REQUEST_CODES_LENGTH)

NAMES = st.sampled_from([":path", "te", "x-mq-client-id", "grpc-timeout", "authorization", "a"])
TEXTS = st.text(st.characters(min_codepoint=0, max_codepoint=255), max_size=40)
LISTS = st.lists(st.tuples(NAMES, TEXTS), max_size=8)


def test_static_table_is_that_of_the_judge() -> None:
    judge = [(name.decode(), value.decode()) for name, value in HeaderTable.STATIC_TABLE]
    assert list(STATIC) == judge


@given(st.binary(max_size=80))
def test_huffman_code_of_any_text_is_read(text: bytes) -> None:
    assert unhuffman(HUFFMAN.encode(text)) == text


@given(st.binary(max_size=20))
def test_any_bytes_are_huffman_code_for_both_or_for_neither(data: bytes) -> None:
    try:
        judged: bytes | None = bytes(decode_huffman(data))
    except hpack.HPACKDecodingError:
        judged = None
    try:
        ours: bytes | None = unhuffman(data)
    except HuffmanError:
        ours = None
    assert ours == judged


@given(
    lists=st.lists(LISTS, max_size=6), huffman=st.booleans(), sizes=st.lists(st.integers(0, 4096))
)
def test_decoder_reads_what_the_judge_writes(
    lists: list[list[tuple[str, str]]], huffman: bool, sizes: list[int]
) -> None:
    writer, reader = hpack.Encoder(), HeaderDecoder()
    for number, fields in enumerate(lists):
        if number < len(sizes):
            writer.header_table_size = sizes[number]
        raw = [(name.encode(), value.encode("latin-1")) for name, value in fields]
        assert reader.decode(writer.encode(raw, huffman=huffman)) == dict(fields)


@given(LISTS)
def test_judge_reads_what_is_encoded(fields: list[tuple[str, str]]) -> None:
    read = hpack.Decoder().decode(encode(fields), raw=True)
    assert [(bytes(n).decode(), bytes(v).decode("latin-1")) for n, v in read] == fields


@settings(max_examples=300)
@given(st.lists(st.binary(max_size=30), max_size=4))
def test_any_bytes_are_fields_for_both_or_for_neither(blocks: list[bytes]) -> None:
    judge, reader = hpack.Decoder(max_header_list_size=1 << 20), HeaderDecoder()
    for block in blocks:
        try:
            read = judge.decode(block, raw=True)
            judged = {bytes(n).decode("latin-1"): bytes(v).decode("latin-1") for n, v in read}
        except hpack.HPACKError:
            with pytest.raises(HpackError):
                reader.decode(block)
            return
        assert reader.decode(block) == judged


def test_list_beyond_the_limit_is_none_and_keeps_the_table_right() -> None:
    writer, reader = hpack.Encoder(), HeaderDecoder()
    assert reader.decode(writer.encode([(b"x-big", b"y" * LIST_MAX_BYTES)])) is None
    with pytest.raises(HpackError, match="far too large"):
        HeaderDecoder().decode(writer.encode([(b"x-big", b"y" * (LIST_MAX_BYTES + 2_500))]))
    assert reader.decode(writer.encode([(b"a", b"1"), (b"b", b"2")])) == {"a": "1", "b": "2"}
    assert reader.decode(writer.encode([(b"a", b"1"), (b"b", b"2")])) == {"a": "1", "b": "2"}


def test_bomb_of_indexed_fields_becomes_nothing() -> None:
    big = b"\x40\x01a\x7f\xa1\x1e" + b"y" * 4000
    with pytest.raises(HpackError, match="far too large"):
        HeaderDecoder().decode(big + b"\xbe" * 60_000)


@pytest.mark.parametrize("block", [b"\x80", b"\xff\xff\xff\xff\xff\x7f", b"\x40", b"\x40\x05a"])
def test_wrong_block_is_refused(block: bytes) -> None:
    with pytest.raises(HpackError):
        HeaderDecoder().decode(block)


def test_endless_sizes_of_the_table_are_refused() -> None:
    assert HeaderDecoder().decode(b"\x20" * 100) == {}
    with pytest.raises(HpackError, match="new size"):
        HeaderDecoder().decode(b"\x20" * 101)


def test_size_of_a_list_is_counted_as_http2_counts_it() -> None:
    decoder = HeaderDecoder()
    decoder.decode(encode([("a", "bc"), ("de", "")]))
    assert decoder.list_bytes == 3 + 32 + 2 + 32
