"""Bodies that a producer compressed, unpacked within a limit.

A body is the peer's: 16 MiB of it may stand for gigabytes, so no module is asked for all at once.

Source: common/compression/Compressor.java and its three classes (4.9.7)
"""

from __future__ import annotations

import zlib
from importlib import import_module
from types import ModuleType

from fakemq.protocol.errors import LocalProtocolError, RemoteProtocolError
from fakemq.protocol.limits import MESSAGE_BODY_MAX_BYTES

_ZSTD_PIECE_BYTES = 256


def unpack(name: str, packed: bytes, at_most: int | None = None) -> bytes:
    """Return what was compressed with ``zlib``, ``lz4`` or ``zstd``.

    Raises RemoteProtocolError for what was not, or unpacks to over ``at_most`` bytes (by default
    MESSAGE_BODY_MAX_BYTES), and LocalProtocolError if the module that could do it (extra
    ``compress``) is not installed.
    """
    if at_most is None:
        at_most = MESSAGE_BODY_MAX_BYTES
    try:
        plain, is_whole = _UNPACK[name](packed, at_most)
    except LocalProtocolError:
        raise
    except Exception as error:  # each module has its own, and none has a base in common
        raise RemoteProtocolError(f"is no {name}: {error}") from error
    if len(plain) > at_most:
        raise RemoteProtocolError(f"unpacks to over {at_most} bytes")
    if not is_whole:
        raise RemoteProtocolError(f"is no {name}: it ends too early")
    return plain


def _unpack_zlib(packed: bytes, at_most: int) -> tuple[bytes, bool]:
    unpacker = zlib.decompressobj()
    return unpacker.decompress(packed, at_most + 1), unpacker.eof


def _unpack_lz4(packed: bytes, at_most: int) -> tuple[bytes, bool]:
    unpacker = _module("lz4.frame").LZ4FrameDecompressor()
    return bytes(unpacker.decompress(packed, at_most + 1)), unpacker.eof


def _unpack_zstd(packed: bytes, at_most: int) -> tuple[bytes, bool]:
    # The frames of Java's stream do not say their size, so decompress() would refuse them, and
    # what takes them knows no limit: it is fed in pieces, each of which makes 8 MiB at most.
    unpacker = _module("zstandard").ZstdDecompressor().decompressobj()
    plain = bytearray()
    for at in range(0, len(packed), _ZSTD_PIECE_BYTES):
        plain += unpacker.decompress(packed[at : at + _ZSTD_PIECE_BYTES])
        if unpacker.eof or len(plain) > at_most:
            break
    return bytes(plain), unpacker.eof


_UNPACK = {"zlib": _unpack_zlib, "lz4": _unpack_lz4, "zstd": _unpack_zstd}


def _module(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError:
        raise LocalProtocolError(
            f"a body is compressed with {name.partition('.')[0]}, which this Python has no module"
            " for: pip install 'fakemq[compress]'"
        ) from None
