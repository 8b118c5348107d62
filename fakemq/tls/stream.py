"""One TLS connection without its socket: the peer's bytes in, plain bytes out, and back."""

from __future__ import annotations

import ssl
from contextlib import suppress
from typing import Final

READ_BYTES: Final = 1 << 14
"""How much is asked of OpenSSL in one call: the most that a record has. More costs fresh pages."""

RECORD_BYTES: Final = 17 * 1024
"""About the largest record: OpenSSL keeps the first part of one until the rest arrives."""

HANDSHAKE_BYTES: Final = 64 * 1024
"""The memory of a handshake under way, estimated: OpenSSL's tables and buffers."""

HANDSHAKE_MAX_BYTES: Final = 256 * 1024
"""What a peer may send in one handshake: chains of certificates are a few KiB."""


class TlsError(ConnectionError):
    """The peer violates TLS, or one end refuses the other; the text says why."""


class TlsStream:
    """One end of a TLS connection, sans-IO. After each call, send what `data_to_send` returns.

    An end that connects begins with `start`. Plain bytes that are written during the handshake are
    sent after it. After a TlsError the connection is over; an alert for the peer may be left to be
    sent.
    """

    def __init__(
        self, context: ssl.SSLContext, *, server_side: bool, host: str | None = None
    ) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = context.wrap_bio(
            self._incoming, self._outgoing, server_side=server_side, server_hostname=host
        )
        self._unsent: list[bytes] = []
        self._unread_bytes = 0
        self.handshaking = True
        self.ended = False
        """Whether the peer has closed its end by TLS."""

    @property
    def held_bytes(self) -> int:
        """The estimated memory that the peer makes this end hold for its unfinished bytes."""
        if self.handshaking:
            return HANDSHAKE_BYTES + self._unread_bytes + sum(map(len, self._unsent))
        return min(self._unread_bytes, RECORD_BYTES) + self._outgoing.pending

    def start(self) -> None:
        """Begin the handshake of an end that connects."""
        self._shake_hands()

    def receive(self, data: bytes) -> bytes:
        """Take the peer's bytes; return the plain ones, none if there are none yet.

        What follows the peer's end is dropped. Raise TlsError.
        """
        if self.ended:
            return b""
        self._incoming.write(data)
        self._unread_bytes += len(data)
        if self.handshaking:
            self._shake_hands()
            if self.handshaking:
                if self._unread_bytes > HANDSHAKE_MAX_BYTES:
                    raise TlsError(f"a handshake of more than {HANDSHAKE_MAX_BYTES} bytes")
                return b""
        plain = []
        try:
            # To read until there is no more would raise an error each time, which costs as much as
            # the rest.
            while self._incoming.pending or self._object.pending():
                piece = self._object.read(READ_BYTES)
                if not piece:
                    self.ended = True
                    break
                plain.append(piece)
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:  # this end has closed, too
            self.ended = True
        except ssl.SSLError as error:
            raise TlsError(explained(error)) from error
        if plain:
            self._unread_bytes = 0
        return plain[0] if len(plain) == 1 else b"".join(plain)

    def write(self, data: bytes | memoryview) -> None:
        """Encrypt plain bytes, now or when the handshake is over. Raise TlsError."""
        if self.handshaking:
            self._unsent.append(bytes(data))
            return
        sent_bytes = 0
        try:
            while sent_bytes < len(data):  # one record at a time
                rest = memoryview(data)[sent_bytes:] if sent_bytes else data
                sent_bytes += self._object.write(rest)
        except ssl.SSLError as error:  # the connection is over already
            raise TlsError(explained(error)) from error

    @property
    def has_data_to_send(self) -> bool:
        """Whether `data_to_send` would return bytes."""
        return self._outgoing.pending > 0

    def data_to_send(self) -> bytes:
        """Return the bytes for the peer, none if there are none."""
        return self._outgoing.read() if self._outgoing.pending else b""

    def close(self) -> None:
        """Say that this end closes; a connection whose handshake is not over just ends."""
        if self.handshaking:
            return
        with suppress(ssl.SSLError):  # the peer's answer is not waited for
            self._object.unwrap()

    def _shake_hands(self) -> None:
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            return
        except ssl.SSLError as error:
            raise TlsError(explained(error)) from error
        self.handshaking, self._unread_bytes = False, 0
        unsent, self._unsent = self._unsent, []
        for data in unsent:
            self.write(data)


_NO_TLS = "bytes that are no TLS"
_ALERT = "the peer refuses our certificate: "
_REASONS = {
    "HTTP_REQUEST": _NO_TLS,
    "WRONG_VERSION_NUMBER": _NO_TLS,
    "UNSUPPORTED_PROTOCOL": "the peer offers only versions of TLS before 1.2",
    "NO_PROTOCOLS_AVAILABLE": "the peer offers only versions of TLS before 1.2",
    "TLSV1_ALERT_PROTOCOL_VERSION": "the peer refuses the versions of TLS from 1.2 on",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the peer shows no certificate, and one is required",
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": "the peer requires a certificate of ours",
    "NO_SHARED_CIPHER": "the peer offers no cipher that this end has",
    "TLSV1_ALERT_UNKNOWN_CA": f"{_ALERT}it does not know the authority",
    "SSLV3_ALERT_BAD_CERTIFICATE": f"{_ALERT}it is not for this host, or bad in another way",
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": f"{_ALERT}it has expired",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": f"{_ALERT}it does not trust it",
}
"""OpenSSL's reasons that users can do something about."""


_UNKNOWN_AUTHORITY = (18, 19, 20, 21)
"""OpenSSL's codes for it; which one depends on what the peer sends besides its certificate."""


def explained(error: ssl.SSLError) -> str:
    """Return in plain words why a handshake failed, or a connection was broken."""
    if isinstance(error, ssl.SSLCertVerificationError):
        why = error.verify_message.rstrip(".")
        if error.verify_code in _UNKNOWN_AUTHORITY:
            why = f"its authority is not known ({why})"
        return f"the peer's certificate is refused: {why}"
    reason: str | None = error.reason
    if reason is None:
        return error.strerror or str(error)
    return _REASONS.get(reason) or reason.replace("_", " ").lower()
