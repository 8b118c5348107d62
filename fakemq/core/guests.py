"""Guests: clients that live in a cluster, on its clock and memory links, and end with it.

A guest calls functions of its user, such as the one that consumes a message. `Guests.perform` calls
them one at a time, when no node is handling anything. So such a function may use the cluster, and
other guests, as a test does: what it begins is delivered while it waits (`Guests.finish`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from fakemq.journal.journal import Cause, Journal
    from fakemq.net.memory import MemoryNetwork

Performed: TypeAlias = Callable[[object, BaseException | None], None]
"""Called once, with the result of a user's function, or with its error."""


class Guest(Protocol):
    """A client that lives in the cluster."""

    name: str
    """Its name as a node: in the journal, for its timers, and as an end of links."""

    def close(self) -> None:
        """Leave its groups as far as that needs no time, then end. It may have ended before."""

    def kill(self) -> None:
        """End at once: its connections are closed, and nothing else is sent."""


class UserCall:
    """One call of a user's function that will be made, unless it is cancelled before."""

    __slots__ = ("args", "cause", "done", "function")

    def __init__(
        self, function: Callable[..., object], args: tuple[Any, ...], done: Performed, cause: Cause
    ) -> None:
        self.function: Callable[..., object] | None = function
        self.args = args
        self.done = done
        self.cause = cause

    def cancel(self) -> None:
        """Do not make the call; one that has begun continues to its end."""
        self.function = None


class Guests:
    """The guests of one cluster, oldest first, and the calls of their users' functions.

    A reset of the cluster closes its guests, because they belong to the test that ends. A restored
    snapshot leaves them as they are: it replaces the data of brokers, and like any other client a
    guest continues at the offsets that its group had committed in the snapshot.
    """

    def __init__(self, journal: Journal, network: MemoryNetwork) -> None:
        self._journal = journal
        self._network = network
        self._members: dict[str, Guest] = {}
        # How many names were made since the last reset.
        self._named = 0
        # The calls that are not made yet, oldest first.
        self._waiting: deque[UserCall] = deque()
        # Whether the network has a delivery that makes the next one.
        self._posted = False
        # How many functions run now: more than one only while one waits for another.
        self._running = 0

    def __len__(self) -> int:
        return len(self._members)

    def name_for(self, group: str) -> str:
        """Return a name that no guest had since the last reset, such as ``billing@inside-1``.

        The ``@`` distinguishes it from the names of nodes, as it does in every client id.
        """
        self._named += 1
        return f"{group}@inside-{self._named}"

    def add(self, guest: Guest) -> None:
        """Close this guest with the cluster."""
        self._members[guest.name] = guest

    def discard(self, guest: Guest) -> None:
        """Forget a guest that has ended."""
        self._members.pop(guest.name, None)

    def close_all(self) -> None:
        """Close every guest, the newest first."""
        while self._members:
            self._members.popitem()[1].close()

    def reset(self) -> None:
        """Kill every guest, and count names from the first one again."""
        while self._members:
            self._members.popitem()[1].kill()
        self._waiting.clear()
        self._named = 0

    # -- functions of users -------------------------------------------------------------------

    def perform(
        self, function: Callable[..., object], args: tuple[Any, ...], done: Performed
    ) -> UserCall:
        """Call a user's function soon; pass its result or error to ``done``."""
        call = UserCall(function, args, done, self._journal.cause)
        self._waiting.append(call)
        self._post()
        return call

    def _post(self) -> None:
        if self._waiting and not self._posted and not self._running:
            self._posted = True
            self._network.post(self._make_next)

    def _make_next(self) -> None:
        self._posted = False
        if not self._running:  # otherwise the end of the running one posts this again
            self._make_oldest()
            self._post()

    def _make_oldest(self) -> None:
        """Make the oldest call that was not cancelled, if there is one."""
        while self._waiting:
            call = self._waiting.popleft()
            if call.function is not None:
                self._make(call, call.function)
                return

    def _make(self, call: UserCall, function: Callable[..., object]) -> None:
        journal = self._journal
        before, journal.cause = journal.cause, call.cause
        value: object = None
        error: BaseException | None = None
        self._running += 1
        try:
            value = function(*call.args)
        except BaseException as raised:  # a test's own failures are no Exception
            error = raised
        self._running -= 1
        call.done(value, error)
        journal.cause = before

    def finish(self, is_done: Callable[[], bool]) -> bool:
        """Deliver what is under way until ``is_done`` returns True; return whether it did.

        Time does not move. It works within a user's function, too: other functions are then called
        only if nothing else is left that could lead to the end.
        """
        while not is_done():
            self._network.deliver_until(is_done)
            if not self._running or not self._waiting:
                return is_done()
            if not is_done():
                self._make_oldest()
        return True

    @property
    def is_calling(self) -> bool:
        """Whether a function of a user runs now."""
        return self._running > 0
