"""A client program inside the cluster, as a test reaches it from any thread."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from msgspec.structs import replace

from fakemq.client.faces.settings import client_config
from fakemq.config.checked import flag
from fakemq.core import deadlines
from fakemq.errors import ConfigError, FakemqError
from fakemq.handles.running import in_thread
from fakemq.inside.program import InsideProgram
from fakemq.randomness import Randomness

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakemq.client.services import ClientServices
    from fakemq.client.tasks import Task
    from fakemq.handles.running import Running
    from fakemq.later import Later

T = TypeVar("T")
_log = logging.getLogger("fakemq.client")


class Core(Protocol):
    """What every producer and consumer has."""

    def start(self) -> Task[None]:
        """Check everything, register, and begin."""

    def shutdown(self) -> Task[None]:
        """Leave the group."""


CoreT = TypeVar("CoreT", bound=Core)


class InsideHandle(Generic[CoreT]):
    """A producer or consumer inside the cluster; it begins when it is made.

    It ends with `close`, or with a reset or the stop of the cluster. A start that needs time, since
    a broker does not answer, continues when time moves.
    """

    def __init__(
        self,
        running: Running,
        group: str,
        options: Mapping[str, object],
        make: Callable[[ClientServices], CoreT],
    ) -> None:
        """``make`` returns the core; it is called on the cluster's thread."""
        if options.get("instance_name"):
            raise ConfigError(
                f"instance_name={options['instance_name']!r}: inside the cluster each producer and"
                " consumer is a client of its own"
            )
        config = client_config(options)
        self._running = running
        self.group = group

        def enter() -> tuple[InsideProgram, CoreT]:
            core = running().server.core
            name = core.guests.name_for(group)
            # Equal seeds of two clients must not lead to equal message ids.
            randomness = core.randomness if config.seed is None else Randomness(config.seed)
            seed = randomness.stream(f"guest {name}").getrandbits(31)
            program = InsideProgram(core, name, replace(config, client_id=name, seed=seed))
            member = make(program.services)
            program.start()
            program.leaving = member.shutdown
            starting = program.begin(member.start(), "start")
            if not starting.done:
                starting.when_done(partial(_log_failed_start, starting, name))
                return program, member
            try:
                starting.result()
            except BaseException:
                program.close()
                raise
            return program, member

        self._program, self._client = running().call(enter)

    # -- its life -----------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Its client id, and its name in the journal, for timers and as an end of links."""
        return self._program.name

    @property
    def closed(self) -> bool:
        """Whether it has ended."""
        return not self._program.alive

    def close(self) -> None:
        """Leave the group and end; do nothing if it has ended.

        Brokers that do not answer at once are left without a word, as time does not move.
        """
        self._end(self._program.close)

    def kill(self, *, silently: bool = False) -> None:
        """End at once, as a killed process: no offset is committed, and no group is left.

        ``silently`` as when its machine dies: no peer sees a connection close.
        """
        flag("silently", silently)
        self._end(partial(self._program.kill, silently=silently))

    def _end(self, end: Callable[[], None]) -> None:
        if self._program.alive:
            with suppress(FakemqError):  # of a cluster that ends now, or is a forked child's copy
                self._running().call(end)

    # -- its tasks ----------------------------------------------------------------------------

    def _call(self, function: Callable[[], T]) -> T:
        """Call a function on the cluster's thread."""

        def call() -> T:
            self._require_alive()
            return function()

        return self._running().call(call)

    def _require_alive(self) -> None:
        if not self._program.alive:
            raise FakemqError(f"{self!r} has ended: it was closed, or the cluster was reset")

    def _do(self, task: Callable[[], Task[T]], what: str) -> T:
        """Run a task to its end, in real time if the cluster's clock runs."""
        outcome = self._begun(task, what)
        if not outcome.done:
            self._running().wait(_over(outcome))
        return outcome.result()

    async def _do_async(self, task: Callable[[], Task[T]], what: str) -> T:
        """As `_do`, for the caller's own loop."""
        outcome = self._begun(task, what)
        if not outcome.done:
            running = self._running()
            try:
                wait = partial(running.wait, _over(outcome))
                await in_thread(lambda: wait(), abandon_on_cancel=True)
            finally:
                running.call(outcome.abandon)
        return outcome.result()

    def _begun(self, task: Callable[[], Task[T]], what: str) -> Later[T]:
        """Begin a task; raise FakemqError if it needs time, and none passes by itself."""
        core = self._program.core

        def begin() -> Later[T]:
            self._require_alive()
            outcome = self._program.begin(task(), what)
            if not outcome.done:
                why = deadlines.stillness(core.clock)
                if core.guests.is_calling:
                    why = "it was called by a function of a client inside, which cannot wait"
                if why:
                    outcome.abandon()
                    raise FakemqError(
                        f"{what} needs time to pass, and {why}. It was begun, and given up; begin"
                        " it by send_async(), and then move the clock"
                    )
            return outcome

        return self._running().call(begin)

    def _submit(self, task: Callable[[], Task[T]], what: str) -> Future[T]:
        """Begin a task; return the future of its result."""
        future: Future[T] = Future()

        def begin() -> None:
            self._require_alive()
            outcome = self._program.begin(task(), what)
            outcome.when_done(partial(_pass_on, outcome, future))

        self._running().call(begin)
        return future

    def __repr__(self) -> str:
        program = getattr(self, "_program", None)  # none if it could not be made
        return f"<{type(self).__name__} {program.name if program else '(not made)'}>"


def _log_failed_start(starting: Later[None], name: str) -> None:
    try:
        starting.result()
    except Exception as error:
        _log.error("the start of %s failed: %s", name, error)


async def _over(outcome: Later[T]) -> None:
    done = asyncio.Event()
    outcome.when_done(done.set)
    await done.wait()


def _pass_on(outcome: Later[T], future: Future[T]) -> None:
    try:
        result = outcome.result()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)
