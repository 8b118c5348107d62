"""One end of a connection, sans-IO: bytes in, commands out, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.protocol.command import FLAG_RESPONSE, RemotingCommand
from fakemq.protocol.errors import RemoteProtocolError, TruncatedError
from fakemq.protocol.frame import LENGTH_BYTES, decode_frames, encode_frame, encode_frame_start

if TYPE_CHECKING:
    from fakemq.protocol.signature import Credentials


class Connection:
    """Turns the peer's bytes into commands and commands into bytes.

    It buffers at most one incomplete frame. Requests that wait for responses are not its task: its
    owner keeps them. ``usual`` is as for `decode_frames`.
    """

    __slots__ = ("_buffer", "_next_opaque", "_usual", "_wanted_bytes", "failure")

    def __init__(self, *, usual: bool = False) -> None:
        self._usual = usual
        self._buffer = bytearray()
        self._wanted_bytes = LENGTH_BYTES
        self._next_opaque = 0
        self.failure: RemoteProtocolError | None = None
        """Why nothing more can be read; the connection is to be closed."""

    def receive_data(self, data: bytes) -> list[RemotingCommand]:
        """Return the commands that are whole now.

        Raises RemoteProtocolError when the peer breaks the protocol. Commands that came whole
        before the breach are still given: then this call returns them and sets ``failure``,
        and the next one raises.
        """
        if self.failure is not None:
            raise self.failure
        buffer = self._buffer
        if buffer:
            if len(buffer) + len(data) < self._wanted_bytes:
                buffer += data
                return []
            data = bytes(buffer) + data
            buffer.clear()
        commands: list[RemotingCommand] = []
        try:
            used, self._wanted_bytes = decode_frames(data, commands, usual=self._usual)
        except RemoteProtocolError as error:
            self.failure = error
            if not commands:
                raise
            return commands
        if used < len(data):
            buffer += data[used:]
        return commands

    @property
    def unfinished_bytes(self) -> int:
        """How much is there of a frame that is not whole yet."""
        return len(self._buffer)

    def receive_eof(self) -> None:
        """The peer will send no more; TruncatedError if it stopped within a frame."""
        if self.failure is not None:
            raise self.failure
        if self._buffer:
            raise TruncatedError(f"the peer closed after {len(self._buffer)} bytes of a frame")

    def encode(self, command: RemotingCommand) -> bytes:
        """Return the bytes to send; LocalProtocolError for what the protocol cannot carry."""
        return encode_frame(command)

    def encode_start(self, command: RemotingCommand, body_bytes: int) -> bytes:
        """As `encode`, but without the body, which the caller sends directly behind."""
        return encode_frame_start(command, body_bytes)

    def next_opaque(self) -> int:
        """Return a number for the next request; after 2**31 - 1 comes -2**31, as in a Java int."""
        opaque = self._next_opaque
        self._next_opaque = opaque + 1 if opaque < 2**31 - 1 else -(2**31)
        return opaque


class SigningConnection(Connection):
    """A client's end that signs each request when it is encoded."""

    __slots__ = ("_credentials",)

    def __init__(self, credentials: Credentials) -> None:
        super().__init__()
        self._credentials = credentials

    def encode(self, command: RemotingCommand) -> bytes:
        """As `Connection.encode`; a request gets its keys and its signature before."""
        if not command.flag & FLAG_RESPONSE:
            self._credentials.sign(command)
        return encode_frame(command)


def client_connection(credentials: Credentials | None) -> Connection:
    """Return a client's end of a connection."""
    return Connection() if credentials is None else SigningConnection(credentials)
