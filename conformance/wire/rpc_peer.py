"""A gRPC client by hand, of a proxy or of the fake; all it sends and receives is written down."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

import grpc

from conformance.normalise import Normaliser
from conformance.wire.rpc_messages import Rpc, request, rpcs
from conformance.wire.rpc_text import lines_of, status_text

ANSWER_TIMEOUT_S = 20.0
DEADLINE_S = 30.0
"""The deadline of a call for which a scenario names none."""
PLACE = "proxy"
_END = object()


class RpcPeer:
    """A connection with the metadata of one client."""

    def __init__(
        self, name: str, client_id: str, addr: str, normaliser: Normaliser, lines: list[str]
    ) -> None:
        self.name = name
        self._normaliser = normaliser
        self._lines = lines
        self._metadata = {
            "x-mq-client-id": client_id,
            "x-mq-language": "JAVA",
            "x-mq-client-version": "5.2.0",
            "x-mq-protocol": "v2",
        }
        # A connection of its own: channels of equal options share one.
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]
        self._channel = grpc.insecure_channel(addr, options)
        self._must_settle = False

    def ask(
        self, rpc: str, fields: Mapping[str, Any] | None = None, *, quiet: bool = False, **more: Any
    ) -> list[Any]:
        """Call and wait for the end; return the responses, ``quiet`` ones are not written down.

        For ``more`` see `begin`.
        """
        return self.begin(rpc, fields, **more).answer(quiet=quiet)

    def begin(
        self,
        rpc: str,
        fields: Mapping[str, Any] | None = None,
        *,
        metadata: Mapping[str, str | None] | None = None,
        deadline_s: float | None = DEADLINE_S,
        hidden: tuple[str, ...] = (),
        silent: bool = False,
    ) -> PendingRpc:
        """Begin a call; ``metadata`` changes what a client sends besides, None takes out.

        ``hidden`` fields of responses, which differ from run to run, are left out. A ``silent``
        call is not written down.
        """
        method = rpcs()[rpc]
        said = request(method, fields or {})
        changes = [f"{key}: {value}" for key, value in (metadata or {}).items()]
        if deadline_s != DEADLINE_S:
            changes.append(f"deadline {deadline_s:g} s" if deadline_s else "no deadline")
        if not silent:
            self._say("->", rpc, changes)
            self._say_message(said)
        call = self._call(method)(said, timeout=deadline_s, metadata=self.metadata(metadata or {}))
        return PendingRpc(self, method, call, hidden, silent=silent)

    def telemetry(self, *, metadata: Mapping[str, str | None] | None = None) -> Telemetry:
        """Open a stream of telemetry."""
        self._say("->", "Telemetry", [f"{key}: {value}" for key, value in (metadata or {}).items()])
        return Telemetry(self, metadata or {})

    def settings(self, **settings: Any) -> Telemetry:
        """Open a stream of telemetry, send settings on it, and take the answer."""
        stream = self.telemetry()
        stream.send(settings=settings)
        stream.take()
        return stream

    def settle(self) -> None:
        """Have taken in what was sent and is not answered: time must not pass before it arrives."""
        if self._must_settle:
            method = rpcs()["QueryRoute"]
            said, metadata = request(method, {}), self.metadata({})
            list(self._call(method)(said, timeout=DEADLINE_S, metadata=metadata))
            self._must_settle = False

    def close(self) -> None:
        """End the connection, and all calls on it."""
        self._channel.close()

    def metadata(self, changes: Mapping[str, str | None]) -> list[tuple[str, str]]:
        """Return the metadata of a call."""
        found: dict[str, str | None] = {**self._metadata, **changes}
        return [(key, value) for key, value in found.items() if value is not None]

    def sent_without_answer(self) -> None:
        """Note that something is under way."""
        self._must_settle = True

    def stream(self, requests: Iterator[Any], metadata: Mapping[str, str | None]) -> Any:
        """Open the stream of telemetry that has these requests."""
        method = rpcs()["Telemetry"]
        return self._channel.stream_stream(
            method.path,
            request_serializer=method.request.SerializeToString,
            response_deserializer=method.response.FromString,
        )(requests, metadata=self.metadata(metadata))

    def _call(self, method: Rpc) -> Any:
        # A unary answer is a stream of one, too: one way to read both.
        return self._channel.unary_stream(
            method.path,
            request_serializer=method.request.SerializeToString,
            response_deserializer=method.response.FromString,
        )

    # -- words --------------------------------------------------------------------------------

    def _say(self, arrow: str, what: str, more: list[str] | None = None) -> None:
        self._lines.append(f"{self.name} {arrow} {PLACE}  {', '.join([what, *(more or [])])}")

    def say_answer(self, what: str) -> None:
        """Write down something that came."""
        self._say("<-", what)

    def say_sent(self, what: str, message: Any) -> None:
        """Write down something that is sent."""
        self._say("->", what)
        self._say_message(message)

    def say_error(self, what: str, code: grpc.StatusCode, details: str) -> None:
        """Write down with which status of gRPC a call has ended."""
        self._say("<-", f"{what} ends: {code.name}")
        if details:
            self._lines.append(f"    {status_text(details, self._normaliser)}")

    def _say_message(self, message: Any, hidden: tuple[str, ...] = ()) -> None:
        for line in lines_of(message, self._normaliser):
            if line.partition(": ")[0].rpartition(".")[2] not in hidden:
                self._lines.append(f"    {line}")

    say_message = _say_message


class PendingRpc:
    """A call under way."""

    def __init__(
        self, peer: RpcPeer, method: Rpc, call: Any, hidden: tuple[str, ...], *, silent: bool
    ) -> None:
        self._silent = silent
        self._peer = peer
        self._method = method
        self._call = call
        self._hidden = hidden
        self._found: list[Any] = []
        self._error: tuple[grpc.StatusCode, str] | None = None
        self._ended = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()
        peer.sent_without_answer()

    def _read(self) -> None:
        try:
            self._found.extend(self._call)
        except grpc.RpcError:
            self._error = self._call.code(), self._call.details() or ""
        self._ended.set()

    def has_come(self, timeout_s: float = 0.02) -> bool:
        """Return whether the call has ended."""
        return self._ended.wait(timeout_s)

    def answer(self, timeout_s: float = ANSWER_TIMEOUT_S, *, quiet: bool = False) -> list[Any]:
        """Wait for the end and write it down; return the responses. Raises TimeoutError."""
        if not self._ended.wait(timeout_s):
            raise TimeoutError(f"{self._method.name} is not answered within {timeout_s} s")
        name = self._method.name
        if self._silent:
            return self._found
        if self._found or self._error is None:
            self._peer.say_answer(name)
        for one in [] if quiet else self._found:
            self._peer.say_message(one, self._hidden)
        if self._error is not None:
            self._peer.say_error(name, *self._error)
        return self._found

    def cancel(self) -> None:
        """Give the call up."""
        self._peer.say_sent(f"{self._method.name}, cancelled", self._method.request())
        self._call.cancel()
        self._ended.wait(ANSWER_TIMEOUT_S)
        self._peer.sent_without_answer()


class Telemetry:
    """A stream of telemetry: commands both ways."""

    def __init__(self, peer: RpcPeer, metadata: Mapping[str, str | None]) -> None:
        self._peer = peer
        self._requests: queue.Queue[Any] = queue.Queue()
        self._came: queue.Queue[Any] = queue.Queue()
        self._call = peer.stream(iter(self._requests.get, _END), metadata)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            for one in self._call:
                self._came.put(one)
            self._came.put(None)
        except grpc.RpcError:
            self._came.put((self._call.code(), self._call.details() or ""))

    def send(self, **fields: Any) -> None:
        """Send a command."""
        command = request(rpcs()["Telemetry"], fields)
        self._peer.say_sent("Telemetry, a command", command)
        self._requests.put(command)

    def take(self, timeout_s: float = ANSWER_TIMEOUT_S, *, hidden: tuple[str, ...] = ()) -> Any:
        """Wait for the next command or the end and write it down; return it.

        Raises TimeoutError.
        """
        try:
            came = self._came.get(timeout=timeout_s)
        except queue.Empty:
            raise TimeoutError(f"no telemetry within {timeout_s} s") from None
        if came is None:
            self._peer.say_answer("Telemetry ends")
        elif isinstance(came, tuple):
            self._peer.say_error("Telemetry", *came)
        else:
            self._peer.say_answer("Telemetry, a command")
            self._peer.say_message(came, hidden)
        return came

    def has_come(self, timeout_s: float = 0.02) -> bool:
        """Return whether there is a command to take."""
        deadline = time.monotonic() + timeout_s
        while self._came.empty():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.002)
        return True

    def nothing_comes(self, silence_s: float) -> None:
        """Write down that nothing more comes."""
        assert not self.has_come(silence_s), f"telemetry came: {self._came.get()}"
        self._peer.say_answer("nothing more")

    def half_close(self) -> None:
        """Say that no more commands are sent."""
        self._peer.say_sent("Telemetry, no more commands", rpcs()["Telemetry"].request())
        self._requests.put(_END)

    def cancel(self) -> None:
        """Give the stream up."""
        self._peer.say_sent("Telemetry, cancelled", rpcs()["Telemetry"].request())
        self._call.cancel()
        self._peer.sent_without_answer()
