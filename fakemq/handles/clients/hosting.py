"""Faces inside the cluster: the cluster carries them, in place of a thread or a loop."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Self, TypeVar

from msgspec.structs import replace

from fakemq.client.arguments import wait_ms
from fakemq.client.faces.base import CoreT, Face
from fakemq.client.faces.blocking_base import BlockingFace
from fakemq.client.faces.functions import Kind
from fakemq.client.service_state import ServiceState
from fakemq.client.tasks import Signal, Task, Wait
from fakemq.config.checked import flag
from fakemq.core import views
from fakemq.errors import ConfigError, FakemqError
from fakemq.inside.program import InsideProgram
from fakemq.randomness import Randomness

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakemq.handles.running import Running
    from fakemq.later import Later

T = TypeVar("T")
_log = logging.getLogger("fakemq.client")


def address(running: Running) -> str:
    """Return the name servers of the cluster, as a face takes them."""
    return ";".join(running().server.core.namesrv_addrs)


class InsideFace(Face[CoreT]):
    """A producer or consumer inside the cluster; it begins when it is made.

    It ends with `close`, or with a reset or the stop of the cluster. A start that needs time, since
    a broker does not answer, continues when time moves.
    """

    _FUNCTIONS = Kind.INSIDE
    _program: InsideProgram
    _running: Running

    def _enter(self, running: Running, options: Mapping[str, object]) -> None:
        """Enter the cluster and start; called once, when the face knows its settings."""
        if options.get("instance_name"):
            raise ConfigError(
                f"instance_name={options['instance_name']!r}: inside the cluster each producer and"
                " consumer is a client of its own"
            )
        self._running = running
        running().call(self._started)

    def _started(self) -> None:
        core, config = self._running().server.core, self._settled.client
        name = core.guests.name_for(self.group)
        # Equal seeds of two clients must not lead to equal message ids.
        randomness = core.randomness if config.seed is None else Randomness(config.seed)
        seed = randomness.stream(f"guest {name}").getrandbits(31)
        program = InsideProgram(core, name, replace(config, client_id=name, seed=seed))
        member = self._core = self._make_core(program.services, program.carrier)
        self._program, self._client_id = program, name
        program.start()
        program.leaving = member.shutdown
        starting = program.begin(member.start(), "start")
        if not starting.done:
            starting.when_done(partial(_log_failed_start, starting, name))
            return
        try:
            starting.result()
        except BaseException:
            program.close()
            raise

    # -- its life -----------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Its client id, and its name in the journal, for timers and as an end of links."""
        return self.client_id

    @property
    def closed(self) -> bool:
        """Whether it has ended."""
        return not self._program.alive

    @property
    def state(self) -> ServiceState:
        """As in Java; SHUTDOWN_ALREADY too if the cluster has ended it."""
        return ServiceState.SHUTDOWN_ALREADY if self.closed else super().state

    def kill(self, *, silently: bool = False) -> None:
        """End at once, as a killed process: no offset is committed, and no group is left.

        ``silently`` as when its machine dies: no peer sees a connection close.
        """
        flag("silently", silently)
        self._end(partial(self._program.kill, silently=silently))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()

    def _leave(self) -> None:
        self._end(self._program.close)

    def _end(self, end: Callable[[], None]) -> None:
        if self._program.alive:
            with suppress(FakemqError):  # of a cluster that ends now, or is a forked child's copy
                self._running().call(end)

    def _wait_for_end(self, timeout_ms: int | None) -> bool:
        limit_s = None if timeout_ms is None else wait_ms(timeout_ms) / 1000
        if self.closed:
            return True
        end = self._running().call(lambda: self._program.begin(_for_ever(), "wait"))
        try:
            return self._running().wait(over(end, limit_s))
        finally:
            with suppress(FakemqError):  # the cluster may have ended
                self._running().call(end.abandon)

    # -- its tasks ----------------------------------------------------------------------------

    @property
    def _made_by(self) -> str:
        return f"mq.{self._WHAT}"

    @property
    def _is_started(self) -> bool:
        return True

    def _running_core(self) -> CoreT:
        core = self._core
        assert core is not None, "it begins when it is made"
        return core  # whether it has ended is asked on the cluster's thread

    def _call(self, function: Callable[[], T]) -> T:
        """Call a function on the cluster's thread; raise FakemqError if it has ended."""

        def call() -> T:
            if not self._program.alive:
                raise FakemqError(f"{self!r} has ended: it was closed, or the cluster was reset")
            return function()

        return self._running().call(call)

    def _carried(self, task: Task[T]) -> Later[T]:
        """Begin a task; raise FakemqError if it needs time, and none passes by itself."""
        core = self._program.core

        def begin() -> Later[T]:
            outcome = self._program.begin(task, "call")
            if not outcome.done:
                why = views.stillness(core.clock)
                if core.guests.is_calling:
                    why = "it was called by a function of a client inside, which cannot wait"
                if why:
                    outcome.abandon()
                    raise FakemqError(
                        f"a call of {self!r} needs time to pass, and {why}. It was begun, and given"
                        " up; begin it by send_async(), and then move the clock"
                    )
            return outcome

        return self._call(begin)

    def _begun(self, task: Task[T]) -> Future[T]:
        """Begin a task; return the future of its result."""
        future: Future[T] = Future()

        def begin() -> None:
            outcome = self._program.begin(task, "call")
            outcome.when_done(partial(_pass_on, outcome, future))

        self._call(begin)
        return future

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._client_id or '(not made)'}>"


class BlockingInside(InsideFace[CoreT], BlockingFace[CoreT]):
    """A face inside the cluster, for synchronous tests.

    Its methods return at once as long as the brokers answer. If an answer needs time, because of a
    fault for example, they wait for it while the cluster's clock runs, and raise FakemqError while
    it does not.
    """

    def start(self) -> Self:
        """Return it: it began when it was made."""
        return self

    def shutdown(self) -> None:
        """Leave the group and end; do nothing if it has ended.

        Brokers that do not answer at once are left without a word, as time does not move.
        """
        self._leave()

    def wait(self, timeout_ms: int | None = None) -> bool:
        """Wait in real time until it has ended, and return whether it has."""
        return self._wait_for_end(timeout_ms)

    def _run(self, task: Task[T]) -> T:
        outcome = self._carried(task)
        if not outcome.done:
            self._running().wait(over(outcome))
        return outcome.result()


def _log_failed_start(starting: Later[None], name: str) -> None:
    try:
        starting.result()
    except Exception as error:
        _log.error("the start of %s failed: %s", name, error)


def _for_ever() -> Task[None]:
    yield Wait(Signal())


async def over(outcome: Later[T], limit_s: float | None = None) -> bool:
    """Wait on the cluster's loop until a value is there; return whether it is."""
    done = asyncio.Event()
    outcome.when_done(done.set)
    with suppress(TimeoutError):
        await asyncio.wait_for(done.wait(), limit_s)
    return outcome.done


def _pass_on(outcome: Later[T], future: Future[T]) -> None:
    try:
        result = outcome.result()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)
