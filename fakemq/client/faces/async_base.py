"""What asynchronous faces have in common: start, end, and waiting for tasks."""

from __future__ import annotations

import logging
import os
import threading
import warnings
import weakref
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

import anyio

from fakemq.awaited import must_be_awaited
from fakemq.client.arguments import wait_ms
from fakemq.client.carriers.loops import current_loop
from fakemq.client.errors import MQClientError
from fakemq.client.faces.base import CoreT, Face
from fakemq.client.faces.functions import Kind
from fakemq.client.faces.host import HostedCarrier
from fakemq.client.faces.shared import Registry, SharedClient
from fakemq.client.services import ClientServices

if TYPE_CHECKING:
    from fakemq.client.faces.settings import Settled
    from fakemq.client.instance import ClientInstance
    from fakemq.client.tasks import Task

T = TypeVar("T")

_log = logging.getLogger("fakemq.client")

_clients: Registry[HostedCarrier] = Registry()

CANCELLED_END_S = 5.0
"""How long a cancelled task is held up while its face leaves its groups; then that continues
without it."""


class UserTasks:
    """The asynchronous tasks that run functions or loops of the user now."""

    def __init__(self) -> None:
        self._ids: list[int] = []  # a task is here for each of its loops and functions
        self.scopes: set[anyio.CancelScope] = set()

    def calling(self) -> _Calling:
        """Return the block around a call of such a function. What is behind the block runs, too, if
        `cancel` has ended the function."""
        return _Calling(self)

    def cancel(self) -> None:
        """Cancel the functions under way."""
        for scope in list(self.scopes):
            scope.cancel()

    def enter(self) -> int:
        """Note that the present task begins with a message; return it for `leave`."""
        task = anyio.get_current_task().id
        self._ids.append(task)
        return task

    def leave(self, task: int) -> None:
        """Note that a task is done with one message."""
        self._ids.remove(task)

    @property
    def has_this(self) -> bool:
        """Whether the present task is one of them."""
        return anyio.get_current_task().id in self._ids


class _Calling:
    """The block around one call of a function of the user."""

    # Written out: it is entered for each message, and `contextmanager` takes twice as long.
    __slots__ = ("_scope", "_task", "_user_tasks")

    def __init__(self, user_tasks: UserTasks) -> None:
        self._user_tasks = user_tasks
        self._scope = anyio.CancelScope()

    def __enter__(self) -> None:
        self._task = self._user_tasks.enter()
        self._user_tasks.scopes.add(self._scope)
        self._scope.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        self._user_tasks.scopes.discard(self._scope)
        self._user_tasks.leave(self._task)
        return self._scope.__exit__(kind, error, traceback)


class AsyncLife:
    """A started face's share of a client, and its end; it outlives the face, and does not know it.

    It is used in its loop alone, except `end_forgotten`.
    """

    def __init__(
        self,
        shared: SharedClient[HostedCarrier],
        end_core: Callable[[], Task[None]],
        user_tasks: UserTasks,
    ) -> None:
        self.carrier = shared.carrier
        self.ended = anyio.Event()
        self._shared = shared
        self._end_core = end_core
        self._user_tasks = user_tasks
        self._pid = os.getpid()
        self._thread = threading.get_ident()
        self._loop_key = current_loop().key
        self._ending: object = None
        self._error: Exception | None = None

    @property
    def is_inherited(self) -> bool:
        """Whether this is a forked child's copy: the client is that of the parent."""
        return os.getpid() != self._pid

    @property
    def is_in_its_thread(self) -> bool:
        """Whether the calling thread is that of its loop; always in a forked child, which gets a
        better error."""
        return threading.get_ident() == self._thread or self.is_inherited

    @property
    def is_in_its_loop(self) -> bool:
        """Whether the running loop is the one in which it was started."""
        return current_loop().key is self._loop_key

    def begin_end(self) -> None:
        """Begin to end the face, in a task of its own, unless that has begun."""
        if self._ending is None:
            self._ending = self.carrier.loop.spawn(self._end)

    async def _end(self) -> None:
        try:
            await self.carrier.run(self._end_core())
        except Exception as error:
            self._error = error
        finally:
            if _clients.leave(self._shared):
                self._shared.services.shutdown()
                await self.carrier.end()
            self.ended.set()

    async def end(self) -> None:
        """End the face, and wait for it, unless the end waits for this task."""
        self.begin_end()
        if self._user_tasks.has_this:
            return
        await self.ended.wait()
        error, self._error = self._error, None
        if error is not None:
            raise error

    def end_forgotten(self, name: str) -> None:
        """End a face that was collected, in any thread."""
        if self.is_inherited or self._ending is not None:
            return
        with suppress(Exception):  # the loop is over, and with it the client
            self.carrier.loop.call_threadsafe(self.begin_end)
        text = (
            f"{name} was dropped while it ran: await shutdown(), or use it in an async with block"
        )
        _log.warning(text)  # ResourceWarning is ignored by default
        warnings.warn(text, ResourceWarning, stacklevel=2)


@must_be_awaited
class AsyncFace(Face[CoreT]):
    """A face whose methods are awaited, on asyncio or trio; any task of its loop may call them."""

    _BLOCK = "async with"
    _FUNCTIONS = Kind.ANY

    def __init__(self, settled: Settled, group: str, *, threads: int = 0) -> None:
        super().__init__(settled, group, threads=threads)
        self._is_starting = False
        self._life: AsyncLife | None = None
        self._user_tasks = UserTasks()
        self._finalizer: weakref.finalize[..., AsyncFace[CoreT]] | None = None

    async def start(self) -> Self:
        """Start it, and return it; an ``async with`` block does this too.

        Raise MQClientError for a group or setting that cannot be, for a second start, and for a
        group that is taken in this client; RemotingError if no name server answers.
        """
        self._require_startable()
        if self._is_starting:
            raise self._not_running()
        self._is_starting = True
        try:
            await self._start()
        finally:
            self._is_starting = False
        return self

    async def _start(self) -> None:
        shared = _clients.join(self._settled, self._new_client, current_loop().key)
        try:
            core = self._core = self._make_core(shared.services, shared.carrier)
            life = AsyncLife(shared, self._end_of(core), self._user_tasks)
        except BaseException:
            if _clients.leave(shared):
                shared.carrier.end_soon()
            raise
        self._life = life
        self._client_id = shared.client_id
        try:
            await shared.carrier.begin()
            await shared.carrier.run(core.start())
        except BaseException:
            self._life = None
            with anyio.CancelScope(shield=True):
                await life.end()
            raise
        self._finalizer = weakref.finalize(self, life.end_forgotten, repr(self))
        self._finalizer.atexit = False

    def _new_client(self, instance: ClientInstance) -> tuple[ClientServices, HostedCarrier]:
        config = instance.config
        carrier = HostedCarrier(
            pool_size=self._pool_size, credentials=config.credentials, tls=config.client_tls()
        )
        services = ClientServices(instance, carrier)
        carrier.before_close = services.shutdown
        return services, carrier

    async def shutdown(self) -> None:
        """Leave the group and close the connections; do nothing if it does not run.

        Called by a function or loop whose message it waits for, it returns at once and ends behind
        that. If the call is cancelled, the end continues without it. In a forked child it only
        forgets the parent's client.
        """
        life = self._life
        if life is None:
            return
        if life.is_inherited:
            self._life = None
            return
        if not life.is_in_its_loop:
            raise MQClientError(
                f"{self!r} was started in another event loop: await its shutdown() there, as in"
                " the asyncio.run() that started it"
            )
        if self._finalizer is not None:
            self._finalizer.detach()
        await life.end()

    async def close(self) -> None:
        """As `shutdown`, by the name that Python's own objects have."""
        await self.shutdown()

    async def wait(self, timeout_ms: int | None = None) -> bool:
        """Wait until it is shut down, by another task or a function; return whether it is."""
        life = self._life
        if life is None:
            raise self._not_running()
        with anyio.move_on_after(None if timeout_ms is None else wait_ms(timeout_ms) / 1000):
            await life.ended.wait()
        return life.ended.is_set()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Shut down. If the block was cancelled, or ended by Ctrl-C, functions that are awaited are
        cancelled, too."""
        self._block_ends()
        if kind is None or issubclass(kind, Exception):
            await self.shutdown()
            return
        self._block_cancelled()
        with anyio.move_on_after(CANCELLED_END_S, shield=True):
            await self.shutdown()

    def _block_ends(self) -> None:
        """Give up what this task still has, for which the end would not wait."""

    def _block_cancelled(self) -> None:
        """Give up what the end would wait for: the block around it was cancelled."""
        self._user_tasks.cancel()

    @property
    def _is_started(self) -> bool:
        return self._life is not None

    @property
    def _is_cut_off(self) -> bool:
        return self._life is not None and self._life.carrier.is_closed

    def _call(self, function: Callable[[], T]) -> T:
        return function()  # the caller is in the loop that carries it

    async def _run(self, task: Task[T]) -> T:
        """Run a task of the running core to its end."""
        life = self._life
        assert life is not None, "only a running core makes tasks"
        if not life.is_in_its_thread:
            task.close()
            raise MQClientError(
                f"{self!r} belongs to the event loop of another thread: make one for each loop"
            )
        return await life.carrier.run(task)
