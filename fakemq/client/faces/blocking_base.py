"""What blocking faces have in common: start, end, and waiting for tasks."""

from __future__ import annotations

import logging
import os
import threading
import warnings
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Self, TypeVar

from fakemq.client.arguments import wait_ms
from fakemq.client.carriers.blocking import ThreadCarrier
from fakemq.client.errors import MQClientError
from fakemq.client.faces.base import CoreT, Face
from fakemq.client.faces.shared import Registry, SharedClient
from fakemq.client.faces.user_threads import UserThreads
from fakemq.client.services import ClientServices

if TYPE_CHECKING:
    from fakemq.client.faces.settings import Settled
    from fakemq.client.instance import ClientInstance
    from fakemq.client.tasks import Task

T = TypeVar("T")

_log = logging.getLogger("fakemq.client")

_clients: Registry[ThreadCarrier] = Registry()

AT_EXIT_S = 5.0
"""How long the exit of the interpreter waits for one face that was not shut down."""


class Life:
    """A started face's share of a client, and its end; it outlives the face, and does not know it.

    Any thread may call it, a finalizer too.
    """

    def __init__(
        self,
        shared: SharedClient[ThreadCarrier],
        end_core: Callable[[], Task[None]],
        user_threads: UserThreads,
    ) -> None:
        self.carrier = shared.carrier
        self.ended = threading.Event()
        self._shared = shared
        self._end_core = end_core
        self._pid = os.getpid()
        # Reentrant, because a garbage collection within a call may call it again.
        self._lock = threading.RLock()
        self._ending: Future[None] | None = None
        self._is_last = False
        self._user_threads = user_threads

    @property
    def is_inherited(self) -> bool:
        """Whether this is a forked child's copy: the client is that of the parent."""
        return os.getpid() != self._pid

    @property
    def waits_for_caller(self) -> bool:
        """Whether the calling thread is one for whose end the face's end waits."""
        return self._user_threads.has_this or self.carrier.is_own_thread

    def begin_end(self) -> Future[None]:
        """Begin to end the face, unless that has begun; return the future of its end.

        Raise MQClientError if the carrier was closed.
        """
        with self._lock:
            if self._ending is None:
                self._ending = self.carrier.submit(self._end())
                self._ending.add_done_callback(self._close)
            return self._ending

    def _end(self) -> Task[None]:
        try:
            yield from self._end_core()
        finally:
            self._is_last = _clients.leave(self._shared)
            if self._is_last:
                self._shared.services.shutdown()

    def _close(self, _: Future[None]) -> None:
        if self._is_last:
            self.carrier.close_soon()
        self.ended.set()

    def end(self) -> None:
        """End the face, and wait for it, unless the end waits for this thread."""
        ending = self.begin_end()
        if self.waits_for_caller:
            return
        try:
            ending.result()
        finally:
            if self._is_last and ending.done():
                self.carrier.close()

    def end_forgotten(self, is_collected: Callable[[], bool], name: str) -> None:
        """End a face that was collected, or that still runs at the exit of the interpreter."""
        if self.is_inherited or self.ended.is_set():
            return
        if not is_collected():
            with suppress(Exception):  # nothing is left that could be done about it
                self.begin_end().result(AT_EXIT_S)
            return
        was_ending = self._ending is not None
        with suppress(MQClientError):  # its carrier is closed
            self.begin_end()
        if not was_ending:
            text = f"{name} was dropped while it ran: shutdown() it, or use it in a with block"
            _log.warning(text)  # ResourceWarning is ignored by default
            warnings.warn(text, ResourceWarning, stacklevel=2)


class BlockingFace(Face[CoreT]):
    """A face whose methods wait; any thread may call them."""

    def __init__(self, settled: Settled, group: str, *, threads: int = 0) -> None:
        super().__init__(settled, group, threads=threads)
        self._starting = threading.Lock()
        self._life: Life | None = None
        self._user_threads = UserThreads()
        self._finalizer: weakref.finalize[..., Self] | None = None

    def start(self) -> Self:
        """Start it, and return it; a ``with`` block does this too.

        Raise MQClientError for a group or setting that cannot be, for a second start, and for a
        group that is taken in this client; RemotingError if no name server answers.
        """
        with self._starting:
            self._require_startable()
            shared = _clients.join(self._settled, self._new_client)
            try:
                core = self._core = self._make_core(shared.services, shared.carrier)
            except BaseException:
                if _clients.leave(shared):
                    shared.carrier.close()
                raise
            life = Life(shared, self._end_of(core), self._user_threads)
            self._life = life
            self._client_id = shared.client_id
            try:
                shared.carrier.run(core.start())
            except BaseException:
                self._life = None
                life.end()
                raise
            is_collected = _collected(self)
            self._finalizer = weakref.finalize(self, life.end_forgotten, is_collected, repr(self))
        return self

    def _new_client(self, instance: ClientInstance) -> tuple[ClientServices, ThreadCarrier]:
        config = instance.config
        carrier = ThreadCarrier(
            pool_size=self._pool_size, credentials=config.credentials, tls=config.client_tls()
        )
        return ClientServices(instance, carrier), carrier

    def shutdown(self) -> None:
        """Leave the group and close the connections; do nothing if it does not run.

        Called by a function that it calls itself, such as ``on_message``, it returns at once and
        ends behind that function: otherwise each would wait for the other. In a forked child it
        only forgets the parent's client.
        """
        life = self._life
        if life is None:
            return
        if life.is_inherited:
            self._life = None
            return
        life.end()
        if life.ended.is_set() and self._finalizer is not None:
            self._finalizer.detach()

    def close(self) -> None:
        """As `shutdown`, by the name that Python's own objects have."""
        self.shutdown()

    def wait(self, timeout_ms: int | None = None) -> bool:
        """Wait until it is shut down, by another thread or a function; return whether it is.

        Ctrl-C ends the wait with KeyboardInterrupt, and the ``with`` block around it shuts down.
        """
        life = self._life
        if life is None:
            raise self._not_running()
        return life.ended.wait(None if timeout_ms is None else wait_ms(timeout_ms) / 1000)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    def _run(self, task: Task[T]) -> T:
        """Run a task of the running core to its end."""
        life = self._life
        assert life is not None, "only a running core makes tasks"
        return life.carrier.run(task)

    @property
    def _is_started(self) -> bool:
        return self._life is not None

    @property
    def _is_cut_off(self) -> bool:
        return self._life is not None and self._life.carrier.is_closed

    def _call(self, function: Callable[[], T]) -> T:
        """Call a function on the carrier's thread, where the core may be read and changed."""
        life = self._life
        if life is None:
            return function()  # there is no other thread yet
        return life.carrier.call(function)


def _collected(face: object) -> Callable[[], bool]:
    reference = weakref.ref(face)
    return lambda: reference() is None
