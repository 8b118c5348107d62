"""Access control of one broker: the door before its dispatchers, and the watch over its files.

Source: broker/BrokerController.java#initialAcl, srvutil/AclFileWatchService.java (4.9.7)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from fakemq.broker.acl.errors import AclError
from fakemq.broker.acl.permission_manager import PlainPermissionManager
from fakemq.dispatch.answers import OVERLOAD, Refused
from fakemq.dispatch.dispatcher import kept_bytes_of
from fakemq.dispatch.long_work import is_overloaded
from fakemq.dispatch.outcomes import answer_to_error
from fakemq.errors import ConfigError, printable
from fakemq.events.core import AccessRefused, Warned
from fakemq.journal.journal import shortened
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.hosts import host_of
from fakemq.protocol.signature import ACCESS_KEY
from fakemq.protocol.topics import RETRY_PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fakemq.broker.acl.homes import AclHome
    from fakemq.broker.acl.rights import Rights
    from fakemq.clock.slices import Steps
    from fakemq.clock.timers import Timer
    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.answers import Outcome
    from fakemq.dispatch.node import NodeContext
    from fakemq.journal.journal import Journal
    from fakemq.net.session import Dispatch, Session
    from fakemq.protocol.command import RemotingCommand

WATCH_PERIOD_MS = 5_000
"""Java looks this often for files that were changed, created or deleted."""


class GuardedDispatcher(Protocol):
    """What the door leads to: a `fakemq.dispatch.dispatcher.Dispatcher`."""

    def dispatch(self, session: Session, command: RemotingCommand) -> None:
        """Handle a request."""

    def answer(
        self, session: Session, command: RemotingCommand, header: Any, outcome: Outcome
    ) -> None:
        """Answer a request."""


class BrokerDoor(ABC):
    """What stands before the dispatchers of a broker and checks each request."""

    def __init__(self, node: NodeContext[BrokerConfig]) -> None:
        self._node = node

    @abstractmethod
    def check(self, session: Session, host: str, command: RemotingCommand) -> str:
        """Return the account of a request; "" if it needs none. Raise AclError if it is refused.

        ``host`` is the peer's address without a port.
        """

    @abstractmethod
    def takes_long(self, command: RemotingCommand) -> bool:
        """Return whether a request may name so much that it is checked in steps."""

    @abstractmethod
    def check_in_steps(self, session: Session, host: str, command: RemotingCommand) -> Steps[str]:
        """As `check`, of a request for which `takes_long` is true."""

    @abstractmethod
    def may_publish(self, session: Session, topic: str) -> bool:
        """Return whether a producer may see a half message of a topic, to check it."""

    def door(self, inside: GuardedDispatcher) -> Dispatch:
        """Return what a session calls for each request: allowed requests go ``inside``."""

        def dispatch(session: Session, command: RemotingCommand) -> None:
            # As with handlers, what a node of the cluster asks is never in slices.
            if session.for_outside and self.takes_long(command):
                self._check_later(inside, session, command)
            else:
                self._let_in(
                    inside,
                    session,
                    command,
                    lambda: self.check(session, self._host_of(session), command),
                )

        return dispatch

    def _check_later(
        self, inside: GuardedDispatcher, session: Session, command: RemotingCommand
    ) -> None:
        """Check a request that may name very much, in slices; then let it in or refuse it."""
        clock = self._node.clock
        if is_overloaded(clock, session):
            inside.answer(session, command, None, Refused(ResponseCode.SYSTEM_BUSY, OVERLOAD))
            return
        release = session.hold(kept_bytes_of(command))
        with_request_cause = self._node.journal.resume()
        steps = self.check_in_steps(session, self._host_of(session), command)
        outcome = clock.begin(steps, peer=session).outcome

        def checked() -> None:
            release()
            with with_request_cause():
                self._let_in(inside, session, command, outcome.result)

        outcome.when_done(checked)

    def _let_in(
        self,
        inside: GuardedDispatcher,
        session: Session,
        command: RemotingCommand,
        account_of: Callable[[], str],
    ) -> None:
        """Dispatch a request, or answer what ``account_of`` raises."""
        try:
            account = account_of()
        except AclError as error:
            note_refusal(
                self._node.journal,
                node=self._node.name,
                peer=session.remote_addr,
                host=self._host_of(session),
                error=error,
                user=command.ext_fields.get(ACCESS_KEY, ""),
                code=command.code,
                sender="" if session.outside else getattr(session.link, "remote_node", ""),
            )
            inside.answer(session, command, None, error.answer())
        except Exception as error:
            outcome = answer_to_error(self._node, command.code, error)
            inside.answer(session, command, None, outcome)
        else:
            if command.code == RequestCode.HEART_BEAT:
                session.account = account
            inside.dispatch(session, command)

    def _host_of(self, session: Session) -> str:
        """Return a peer's address without its port; inside the cluster all have the brokers'."""
        if not session.outside:
            return self._node.config.broker_ip1.strip("[]")
        return host_of(session.remote_addr)


class AccessControl(BrokerDoor):
    """The rules of one broker, from `start` on.

    With ``strict`` a start refuses a file with a name that has no effect, such as a mistyped one.
    """

    def __init__(
        self,
        node: NodeContext[BrokerConfig],
        home: AclHome,
        rights: Rights,
        *,
        strict: bool = False,
    ) -> None:
        super().__init__(node)
        self._home = home
        self._rights = rights
        self._strict = strict
        self._refused: list[str] | None = None
        """What has no effect, while that is an error."""
        self._stamps: dict[str, int] = {}
        self._timer: Timer | None = None
        self.manager = self._new_manager()

    def _new_manager(self) -> PlainPermissionManager:
        return PlainPermissionManager(
            self._home, now_ms=self._node.clock.now_ms, warn=self._warn, rights=self._rights
        )

    def start(self) -> None:
        """Read all files, and watch them; raise ConfigError if one is wrong."""
        self._node.clock.cancel(self._timer)
        self.manager = self._new_manager()
        refused = self._refused = [] if self._strict else None
        try:
            self.manager.load()
        except AclError as error:
            text = printable(f"{self._node.name}: the rules of access control: {error}")
            raise ConfigError("\n".join([*(refused or ()), text])) from None
        finally:
            self._refused = None
        if refused:
            raise ConfigError("\n".join(refused))
        self._stamps = self._present_stamps()
        self._watch_again()

    def stop(self) -> None:
        """Watch no more."""
        self._node.clock.cancel(self._timer)

    def rules(self) -> Mapping[str, Any] | None:
        """Return the rules of a test as they are now; None for files."""
        return self._home.image()

    def restore(self, rules: Mapping[str, Any] | None, *, enabled: bool) -> None:
        """Return to rules that `rules` returned; if ``enabled``, files of the user are read again.

        Rules that are not enabled hold when they are.
        """
        if rules is not None:
            self._home.restore(rules)
        if enabled:
            self.start()

    def reset(self, *, running: bool) -> None:
        """Return to the rules of the beginning; files of the user are read again."""
        self._home.reset()
        if running:
            self.start()

    def check(self, session: Session, host: str, command: RemotingCommand) -> str:
        return self.manager.validate(host, command)

    def takes_long(self, command: RemotingCommand) -> bool:
        return self.manager.takes_long(command)

    def check_in_steps(self, session: Session, host: str, command: RemotingCommand) -> Steps[str]:
        return self.manager.validate_in_steps(host, command)

    def may_publish(self, session: Session, topic: str) -> bool:
        """Return whether a producer may see a half message of a topic, to check it.

        4.9.7 asks for nothing. The front asks its own clients.
        """
        if not self._rights.v5 or session.account is None:
            return True
        return self.manager.may_publish(session.account, topic)

    # -- the watch ----------------------------------------------------------------------------

    def _present_stamps(self) -> dict[str, int]:
        return {path: self._home.stamp(path) for path in self._home.files()}

    def _watch_again(self) -> None:
        self._timer = self._node.clock.call_later(WATCH_PERIOD_MS, self._watch, kind="acl_watch")

    def _watch(self) -> None:
        self._watch_again()
        before, self._stamps = self._stamps, self._present_stamps()
        try:
            if len(before) != len(self._stamps):
                self.manager.load()
                return
            for path, stamp in self._stamps.items():
                if before.get(path) != stamp:
                    self.manager.load_file(path)
        except AclError as error:
            self._warn(f"the rules of access control were not read again: {error}")

    def _warn(self, text: str) -> None:
        if self._refused is not None:
            self._refused.append(printable(f"{self._node.name}: {text}"))
            return
        self._node.journal.add(Warned(node=self._node.name, text=printable(text)))


# Writes to the journal what access control refused.

NAMED_AT_MOST = 8
"""How many groups, and topics, an entry names: a request may name very many."""
LOOKS_AT_MOST = 200
"""How many needs of a request are read for that."""


def note_refusal(
    journal: Journal,
    *,
    node: str,
    peer: str,
    host: str,
    error: AclError,
    user: str,
    code: int | None = None,
    sender: str = "",
) -> None:
    """Write that a request was refused, with the groups and topics that it is about.

    Of what it asks for only the first are read, as the caller, ``user``, may have no right to
    anything; if that raises AclError, the request cannot be read.
    """
    groups, topics = dict[str, None](), dict[str, None]()
    with suppress(AclError):
        for name, _ in islice(error.needs, LOOKS_AT_MOST):
            if name is not None:
                is_group = name.startswith(RETRY_PREFIX)
                found = groups if is_group else topics
                if len(found) < NAMED_AT_MOST:
                    found[shortened(name.removeprefix(RETRY_PREFIX) if is_group else name)] = None
            if len(groups) == len(topics) == NAMED_AT_MOST:
                break
    journal.add(
        AccessRefused(
            node=node,
            peer=peer,
            host=host,
            groups=tuple(groups),
            topics=tuple(topics),
            why=shortened(error.message or ""),
            user=shortened(user),
            resource=shortened(error.resource),
            actions=error.actions,
            code=code,
            sender=sender,
        )
    )
