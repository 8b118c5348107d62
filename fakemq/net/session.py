"""One connection, seen from one of its ends: bytes become commands, commands become bytes.

A session never waits. Requests that come in go to the dispatcher, responses to the callback of
their request; what it writes goes to its link, once per batch of bytes that came in.
Java's noun for it in the tables of clients and brokers is *channel*.
"""

# Over 400 lines: bytes in, bytes out and the end of a connection share what it holds.

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from fakemq.clock.node_clock import NodeClock
from fakemq.clock.slices import Steps, leaving
from fakemq.clock.timers import Timer
from fakemq.events.core import LinkClosed, LinkOpened, failure
from fakemq.journal.journal import Journal, shortened
from fakemq.journal.noted import RECEIVED
from fakemq.net.link import CLOSED_BY_PEER, Link
from fakemq.protocol.codes import RequestCode, code_name
from fakemq.protocol.command import FLAG_ONEWAY, FLAG_RESPONSE, Body, RemotingCommand
from fakemq.protocol.connection import Connection
from fakemq.protocol.errors import LocalProtocolError, RemoteProtocolError
from fakemq.protocol.frame import encode_json_answer
from fakemq.protocol.limits import UNWRITTEN_MAX_BYTES

NO_FRAMES: Final = "bytes that are no frames of ours"
"""Kind of warning about a peer that does not follow the protocol."""

CUT_FRAMES: Final = "connections that ended within a frame"
"""Kind of warning about a peer that was killed, or crashed, while it sent a frame."""

_LOOK_EVERY: Final = 8
"""How many cheap commands are handled between looks at the time; a power of two."""

_CHEAP: Final = frozenset({RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2})
"""The codes of cheap requests, if they have no more than `_CHEAP_BODY_BYTES`. Any other request may
take long, so there is a look at the time before it."""

_CHEAP_BODY_BYTES: Final = 64 * 1024

COMMAND_BYTES: Final = 300
"""The estimated memory of a waiting command, in addition to its bytes."""

CHANNEL_IDLE_MS: Final = 120_000
"""A connection with neither read nor write for this long is closed, unless a config says else."""

OnReply = Callable[[RemotingCommand | None], None]


class Owner(Protocol):
    """The node that has this end of the connection."""

    name: str
    clock: NodeClock
    journal: Journal

    def session_closed(self, session: Session) -> None:
        """The connection is gone; called once per session."""


Dispatch = Callable[["Session", RemotingCommand], None]


class Session:
    """One end of a connection. ``dispatch`` gets the peer's requests, None refuses them all.

    After ``idle_ms`` without bytes in either direction the session closes; 0 means never.
    """

    language = "remoting"

    def __init__(
        self,
        link: Link,
        owner: Owner,
        dispatch: Dispatch | None,
        idle_ms: int = CHANNEL_IDLE_MS,
    ) -> None:
        self.link = link
        self.remote_addr = link.remote_addr
        self.outside = link.outside
        self.for_outside = link.outside
        """Whether a peer outside the cluster causes its requests: long work for it has slices."""
        self.closed = False
        self.account: str | None = None
        """The account of its last heartbeat, where access control asks for one."""
        self._owner = owner
        self._name = owner.name
        self._clock = owner.clock
        self._journal = owner.journal
        self._dispatch = dispatch
        self._connection = Connection(usual=dispatch is not None)
        # Opaque of a sent request → what gets its response, and the timer of its time-out.
        self._waiting: dict[int, tuple[OnReply, Timer]] = {}
        # The answers of the batch that is being handled, or of the present moment; None between.
        self._out: list[bytes | memoryview] | None = None
        self._out_bytes = 0  # the size of their bodies
        # Commands that wait until the peer reads its answers, or for the next turn.
        self._left: list[RemotingCommand] = []
        self._left_bytes = 0  # their size when they arrived, at most
        self._held_bytes = 0  # the size of requests that are answered later
        self._last_io_ms = self._elapsed_ms()
        self._idle_ms = idle_ms
        self._idle_timer = self._watch_idle(idle_ms) if idle_ms > 0 else None
        self._journal.add(LinkOpened(node=self._name, peer=self.remote_addr, outside=self.outside))

    @property
    def node(self) -> str:
        return self._name

    # -- bytes in -----------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Handle bytes of the peer; close the connection if they violate the protocol."""
        if self.closed:
            return
        clock = self._clock.cluster
        # All commands of one batch of bytes are handled in one moment of the cluster's time.
        self._last_io_ms = clock.hold_moment(outside=self.outside)
        try:
            commands = self._connection.receive_data(data)
            if self._left:
                self._left_bytes += len(data)
                commands = [*self._left, *commands]
            else:
                self._left_bytes = len(data)
            self._handle_each(commands)
        except RemoteProtocolError as error:
            self.close_for_violation(str(error), NO_FRAMES)
        finally:
            clock.release_moment()

    def resume_processing(self) -> None:
        """Handle the commands that waited, for the peer to read or for the next turn."""
        if self._left and not self.closed:
            clock = self._clock.cluster
            clock.hold_moment()
            try:
                self._handle_each(self._left)
            finally:
                clock.release_moment()

    def _handle_each(self, commands: list[RemotingCommand]) -> None:
        """Handle commands in their order. There are three cases:

        1. The peer does not read the answers: the rest is left until it does.
        2. Other connections wait: the rest is left until the next turn.
        3. All is handled: the answers are written in one piece.
        """
        if self._out:
            self._write_out()
        self._out, self._out_bytes, self._left = [], 0, []
        last = len(commands)
        for number in range(1, last + 1):  # compiled, `enumerate` would be an object
            command = commands[number - 1]
            # A look begins the turn or ends it, so a command that came alone needs none.
            if (
                last > 1
                and (command.code not in _CHEAP or len(command.body) > _CHEAP_BODY_BYTES)
                and self.link.should_yield()
            ):
                # Case 2, as below.
                self._left = commands[number - 1 :]
                break
            self._receive(command)
            if self.closed:
                self._out = None
                return
            if self._out_bytes > UNWRITTEN_MAX_BYTES:
                self._write_out()
                # Case 1.
                if self.link.write_blocked and number < last:
                    self._left = commands[number:]
                    return
                self._out, self._out_bytes = [], 0
            if not number % _LOOK_EVERY and number < last and self.link.should_yield():
                self._left = commands[number:]
                break
        self._write_out()
        violation = self._connection.failure
        # What came whole before the violation is answered first.
        if violation is not None and not self._left:
            self.close_for_violation(str(violation), NO_FRAMES)

    @property
    def unfinished_bytes(self) -> int:
        """The size of what is held: an incomplete frame, and requests without their answers."""
        size_bytes = self._connection.unfinished_bytes + self._held_bytes
        if self._left:
            size_bytes += self._left_bytes + COMMAND_BYTES * len(self._left)
        return size_bytes

    def hold(self, size_bytes: int) -> Callable[[], None]:
        """Count bytes of a request as held for the peer, until the returned function is called.

        Call that function once.
        """
        self._held_bytes += size_bytes

        def release() -> None:
            self._held_bytes -= size_bytes

        return release

    def connection_lost(self, why: str = CLOSED_BY_PEER) -> None:
        """The link is gone: every request that waits for a response gets None."""
        if self.closed:
            return
        cut_bytes = self._connection.unfinished_bytes
        if cut_bytes and self.outside:
            text = (
                f"the connection of {self.remote_addr} ended within a frame,"
                f" of which {cut_bytes} bytes had arrived"
            )
            self._journal.peer_warnings.warn(self._name, CUT_FRAMES, text)
        self._end(why)

    def _end(self, why: str) -> None:
        self.closed, self._left = True, []
        self._clock.cancel(self._idle_timer)
        # Other peers may have let thousands be asked of it.
        self._clock.carry_out(self._give_up_waiting(), peer=leaving(self), count=len(self._waiting))
        self._journal.add(LinkClosed(node=self._name, peer=self.remote_addr, why=why))
        self._owner.session_closed(self)

    def _give_up_waiting(self) -> Steps[None]:
        """Tell the requests that wait for the peer that there is no answer."""
        waiting, self._waiting = self._waiting, {}
        for on_reply, timer in waiting.values():
            self._clock.cancel(timer)
            self._tell(on_reply, None)
            yield

    def _tell(self, on_reply: OnReply, response: RemotingCommand | None) -> None:
        # An exception of the callback must not harm this connection, or other requests.
        try:
            on_reply(response)
        except Exception as error:
            self._journal.add(failure(self._name, None, error))

    def _receive(self, command: RemotingCommand) -> None:
        if command.flag & FLAG_RESPONSE:
            waiting = self._waiting.pop(command.opaque, None)
            if waiting is not None:
                on_reply, timer = waiting
                self._clock.cancel(timer)
                self._tell(on_reply, command)
            return
        code, journal = command.code, self._journal
        before = journal.cause
        try:
            journal.begin((RECEIVED, self._name, code, self.remote_addr, command.opaque))
            if self._dispatch is not None:
                self._dispatch(self, command)
        except Exception as error:  # only this request fails
            journal.add(failure(self._name, code, error))
        finally:
            journal.end(before)

    # -- bytes out ----------------------------------------------------------------------------

    def send(
        self, command: RemotingCommand, body: Body | None = None, *, answers: int | None = None
    ) -> None:
        """Write a command; a closed session drops it.

        ``body`` replaces the command's own; ``answers`` is the code of the request that the command
        answers. A command that is too large for the protocol closes the connection: the peer cannot
        read it, and must not wait for it.
        Source: remoting/netty/NettyDecoder.java#decode (4.9.7), which closes the channel
        """
        if self.closed:
            return
        if body is None:
            body = command.body
        body_bytes = _size_of(body)
        try:
            start = self._connection.encode_start(command, body_bytes)
        except LocalProtocolError as error:
            what = code_name(command.code) if answers is None else f"answer to {code_name(answers)}"
            self.close_for_violation(
                f"cannot send the {what}: {error}", "answers that fit no frame"
            )
            return
        self._write_with_body(start, body, body_bytes)

    def send_json_answer(
        self,
        code: int,
        ext_fields: dict[str, str],
        opaque: int,
        remark: str | None,
        version: int,
        body: Body,
    ) -> bool:
        """Write a response with these fields, and no others, in JSON; a closed session drops it.

        Return False for one that is not usual, so that `send` has to write it.
        """
        body_bytes = _size_of(body)
        start = encode_json_answer(code, ext_fields, opaque, remark, version, body_bytes)
        if start is None:
            return False
        self._write_with_body(start, body, body_bytes)
        return True

    def _write_with_body(self, start: bytes, body: Body, body_bytes: int) -> None:
        if not body_bytes:
            self.write(start)
        elif not self.closed:
            pieces: list[bytes | memoryview] = [start]
            pieces += (body,) if isinstance(body, bytes) else body
            if self._out is None:
                self.write(b"".join(pieces))
            else:
                self._out += pieces
                self._out_bytes += body_bytes

    def write(self, frame: bytes) -> None:
        """Write a whole frame, with the others of this batch, or of the present moment."""
        if self._out is not None:
            self._out.append(frame)
        elif not self.closed:
            self._last_io_ms = self._elapsed_ms()
            # Many answers may be written in one moment: a system call for each would take as long
            # as to store a message. A link in memory notes the cause of each write instead.
            if self.outside and self._clock.cluster.at_release(self._write_out):
                self._out, self._out_bytes = [frame], 0
            else:
                self.link.write(frame)

    def _write_out(self) -> None:
        """Write the answers of this batch, or of this moment, as one piece."""
        out, self._out = self._out, None
        if out and not self.closed:
            self.link.write(b"".join(out))

    def invoke_oneway(self, command: RemotingCommand) -> None:
        """Send a request without an answer."""
        command.flag |= FLAG_ONEWAY
        command.opaque = self._connection.next_opaque()
        self.send(command)

    def invoke(
        self,
        command: RemotingCommand,
        timeout_ms: int,
        on_reply: OnReply,
        *,
        close_on_timeout: bool = False,
    ) -> None:
        """Send a request; ``on_reply`` gets the response, or None on time-out or a lost link."""
        if self.closed:
            on_reply(None)
            return
        opaque = command.opaque = self._connection.next_opaque()

        def give_up() -> None:
            if self._waiting.pop(opaque, None) is not None:
                if close_on_timeout:
                    self.close(f"no answer within {timeout_ms} ms")
                self._tell(on_reply, None)

        timer = self._clock.call_later(
            timeout_ms, give_up, kind="rpc_timeout", outside=self.outside
        )
        self._waiting[opaque] = (on_reply, timer)
        self.send(command)

    def close(self, why: str) -> None:
        """Close the connection from this end; ``why`` goes to the journal."""
        if not self.closed:
            self._write_out()
            self._end(why)
            self.link.close()

    def close_for_violation(self, why: str, kind: str) -> None:
        """Close the connection because the peer violates a rule, and warn about it."""
        if not self.closed:
            why = shortened(why)
            text = f"closed the connection of {self.remote_addr}: {why}"
            self._journal.peer_warnings.warn(self._name, kind, text)
            self.close(why)

    # -- a paused node ------------------------------------------------------------------------

    def pause(self) -> None:
        """Leave arriving bytes unread, as a stopped process does."""
        self.link.pause_reading()

    def resume(self) -> None:
        """Handle the bytes that arrived during the pause, and the peer's close if there was one."""
        self.link.resume_reading()

    # -- idleness -----------------------------------------------------------------------------

    def _elapsed_ms(self) -> int:
        return self._clock.elapsed_ms(outside=self.outside)

    def _watch_idle(self, delay_ms: int) -> Timer:
        # The timer checks the last use when it fires. It is not moved with every byte: that would
        # cost a call for each.
        return self._clock.call_later(
            delay_ms,
            self._check_idle,
            kind="channel_idle",
            outside=self.outside,
            routine=self._move_last_io,
        )

    def _move_last_io(self, ms: int) -> None:
        self._last_io_ms += ms

    def _check_idle(self) -> None:
        left_ms = self._last_io_ms + self._idle_ms - self._elapsed_ms()
        if left_ms > 0:
            self._idle_timer = self._watch_idle(left_ms)
        else:
            self.close(f"idle for {self._idle_ms // 1000} s")

    def __repr__(self) -> str:
        state = "closed" if self.closed else "outside" if self.outside else "inside"
        return f"<session {self.link.local_addr} - {self.remote_addr} {state}>"


def _size_of(body: Body) -> int:
    return len(body) if isinstance(body, bytes) else sum([len(piece) for piece in body])
