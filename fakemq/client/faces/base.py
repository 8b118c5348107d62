"""What every face has, blocking or not: its settings, its core, and texts about its state."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from fakemq.client.carriers.ownership import OwnProcess
from fakemq.client.carriers.pool import DEFAULT_SIZE
from fakemq.client.errors import MQClientError
from fakemq.client.faces.functions import Kind
from fakemq.client.service_state import ServiceState
from fakemq.protocol.topics import FAQ

if TYPE_CHECKING:
    from fakemq.client.faces.settings import Settled
    from fakemq.client.services import ClientServices
    from fakemq.client.tasks import Task


class Core(Protocol):
    """What a face needs of its core."""

    @property
    def state(self) -> ServiceState:
        """Where it is in its life."""

    def start(self) -> Task[None]:
        """Check everything, register, and begin."""

    def shutdown(self) -> Task[None]:
        """Give back what it has, and leave the group; do nothing unless it runs."""


SPARE_THREADS = 16
"""For selectors, checks and callbacks, beside functions that consume."""

AWAIT_TERMINATION_MS = 10_000
"""Java waits 0 ms by default: what is being consumed then is consumed again by another member."""

CoreT = TypeVar("CoreT", bound=Core)
T = TypeVar("T")
_RUNNING = ServiceState.RUNNING


class Face(Generic[CoreT]):
    """A producer or consumer that a program uses; it begins with `start`, and ends for good."""

    _WHAT: ClassVar[str]
    """As Java calls it in its texts."""
    _BLOCK: ClassVar[str] = "with"
    """The block that starts it and shuts it down."""
    _FUNCTIONS: ClassVar[Kind] = Kind.PLAIN
    """Which functions of the user it can call."""

    _group: str = ""
    _core: CoreT | None = None
    _client_id: str = ""

    def __init__(self, settled: Settled, group: str, *, threads: int = 0) -> None:
        # ``threads`` is how many functions of the user it may call in threads at the same time.
        self._pool_size = max(DEFAULT_SIZE, threads + SPARE_THREADS)
        self._settled = settled
        self._group = group
        self._process = OwnProcess()

    @property
    def state(self) -> ServiceState:
        """CREATE_JUST, RUNNING, START_FAILED or SHUTDOWN_ALREADY, as in Java."""
        return self._core.state if self._core is not None else ServiceState.CREATE_JUST

    @property
    def group(self) -> str:
        return self._group

    @property
    def client_id(self) -> str:
        """The id by which brokers know it; empty until it starts."""
        return self._client_id

    @property
    def _made_by(self) -> str:
        """What a program calls to make it, in errors about arguments."""
        return type(self).__name__

    @property
    def _is_started(self) -> bool:
        """Whether its core is used by a carrier."""
        raise NotImplementedError

    def _make_core(self, services: ClientServices, carrier: Any) -> CoreT:
        """Return a core that can be started, for this kind of carrier."""
        raise NotImplementedError

    def _end_of(self, core: CoreT) -> Callable[[], Task[None]]:
        """Return what makes the task that shuts a core down; it must not refer to the face."""
        return core.shutdown

    def _call(self, function: Callable[[], T]) -> T:
        """Call a function where the core may be read and changed."""
        raise NotImplementedError

    def _running_core(self) -> CoreT:
        """Return the core; raise MQClientError unless it runs."""
        core = self._core
        if core is None or core.state is not _RUNNING:
            raise self._not_running()
        return core

    def _require_startable(self) -> None:
        """Raise MQClientError if it was started before."""
        if self.state is not ServiceState.CREATE_JUST:
            raise self._not_ok(f"maybe started once, {self.state.value}")

    def _not_running(self) -> MQClientError:
        return self._not_ok(self.state.value)

    def _not_ok(self, why: str) -> MQClientError:
        name = type(self).__name__
        advice = {
            ServiceState.CREATE_JUST: f"use it in `{self._BLOCK} {name}(…)`, or call start() first",
            ServiceState.RUNNING: "a block starts it, too",
            ServiceState.SHUTDOWN_ALREADY: f"it was shut down: make another {name}",
            ServiceState.START_FAILED: f"its start has failed: make another {name}",
        }[self.state]
        return MQClientError(f"The {self._WHAT} service state not OK, {why}: {advice}{FAQ}")

    def __repr__(self) -> str:
        client = f" as {self._client_id}" if self._client_id else ""
        return f"<{type(self).__name__} {self._group}{client}, {self._shown_state()}>"

    def _shown_state(self) -> str:
        """Return its state, and why it is of no use if its client has gone without a shutdown."""
        state = self.state
        if state is _RUNNING and not self._process.is_this:
            return f"{state.value} in process {self._process.pid}"
        if state is _RUNNING and self._is_cut_off:
            return "its client is closed"
        return state.value

    @property
    def _is_cut_off(self) -> bool:
        """Whether its carrier was closed, as by the end of its event loop."""
        raise NotImplementedError
