"""The check of each request to a broker with auth 2.0: whose key it has, and what that user may.

Source: auth/authentication/chain/DefaultAuthenticationHandler.java,
auth/authentication/builder/DefaultAuthenticationContextBuilder.java,
auth/authorization/chain/UserAuthorizationHandler.java, AclAuthorizationHandler.java,
auth/authentication/strategy/*.java, auth/authorization/strategy/*.java (5.5.0)
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from fakemq.broker.acl.access import BrokerDoor
from fakemq.broker.v5.auth.asks import BROKER, FRONT, Ask, asks_of
from fakemq.broker.v5.auth.errors import AuthError
from fakemq.broker.v5.auth.model import DENY, DISABLED, GROUP, SUPER, TOPIC, user_key
from fakemq.clock.slices import A_STEP
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.headers.query import UNIQUE_MSG_QUERY_FLAG
from fakemq.protocol.signature import ACCESS_KEY, LAST_WITHOUT_FLAG, SIGNATURE, signature
from fakemq.protocol.topics import retry_topic

if TYPE_CHECKING:
    from fakemq.broker.v5.auth.users import Users
    from fakemq.clock.slices import Steps
    from fakemq.config.model import BrokerConfig
    from fakemq.config.v5.model import BrokerConfig5
    from fakemq.dispatch.node import NodeContext
    from fakemq.net.grpc_call import CallSession
    from fakemq.net.session import Session
    from fakemq.protocol.command import RemotingCommand

READ_AT_ONCE_BYTES = 1 << 16
"""A larger body or list of names is checked in steps, and not read for the journal alone."""
REMEMBERED_MAX_CHARS = 256
"""Nothing is remembered of longer names."""
NO_USERS = "The authenticationMetadataProvider is not configured"
NO_RIGHTS = "The authorizationMetadataProvider is not configured"
"""As in Java, without the full stop that administrators get to see."""
_KEPT = 64
"""Of a few connections closed ones are kept, too."""
FAILED = "Authorization failed. Please verify your access rights and try again."

Peer: TypeAlias = "Session | CallSession"
"""A connection."""
Key: TypeAlias = tuple[str | None, ...]
"""A user; or a user, a resource, actions and an address."""
Decision: TypeAlias = "tuple[int, AuthError | None]"
"""Until when it counts, and why something is refused; None for what is allowed."""


class AuthStrategy:
    """Whether what was decided about a connection is decided again.

    Stateless by default; with ``expires_s`` stateful: a decision counts for so long, whatever
    changes meanwhile, and no more than ``most`` of all connections together are remembered. A
    white list is a part of what is remembered, as in Java: a key is not looked at if the connection
    has first sent, with the same key, a request that needs none.
    """

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._decisions: dict[Peer, dict[Key, Decision]] = {}
        self.begin("", None, 0)

    def begin(self, white_list: str, expires_s: int | None, most: int) -> None:
        """Take these settings, and forget all decisions, as a start does."""
        self._white = {code.strip() for code in white_list.split(",")}
        self._expires_s = expires_s
        self._most = most
        self._decisions.clear()
        self._count = 0
        """How many decisions there are of all connections."""
        self._kept = _KEPT

    def evaluate(self, session: Peer, code: str, key: Key, check: Callable[[], None]) -> None:
        """Raise AuthError if ``check`` does, or did for the same key of this connection."""
        if self._expires_s is None:
            if code not in self._white:
                check()
            return
        now_ms = self._now_ms()
        until_ms, error = self._decisions.get(session, {}).get(key, (0, None))
        if until_ms <= now_ms:
            error = None
            try:
                if code not in self._white:
                    check()
            except AuthError as raised:
                error = raised.again()  # the frames of this one have the request
            self._remember(session, key, (now_ms + self._expires_s * 1000, error))
        if error is not None:
            raise error.again()

    def _remember(self, session: Peer, key: Key, decision: Decision) -> None:
        if sum(len(name or "") for name in key) > REMEMBERED_MAX_CHARS or self._most <= 0:
            return
        decisions = self._decisions_of(session)
        if key not in decisions:
            while self._count >= self._most:  # those of the oldest connection go
                oldest = next(iter(self._decisions))
                self._count -= len(self._decisions.pop(oldest))
            decisions = self._decisions.setdefault(session, {})
            self._count += 1
        decisions[key] = decision

    def _decisions_of(self, session: Peer) -> dict[Key, Decision]:
        """Return the decisions about a connection; forget those of closed ones, now and then."""
        if session not in self._decisions and len(self._decisions) >= self._kept:
            kept = {one: found for one, found in self._decisions.items() if not one.closed}
            self._decisions, self._count = kept, sum(map(len, kept.values()))
            self._kept = max(_KEPT, 2 * len(kept))
        return self._decisions.setdefault(session, {})


class AuthControl(BrokerDoor):
    """The door of a broker with authenticationEnabled or authorizationEnabled."""

    def __init__(
        self, node: NodeContext[BrokerConfig], config: BrokerConfig5, users: Users
    ) -> None:
        super().__init__(node)
        self._config = config
        self._users = users
        self._rules, self._code = BROKER, ResponseCode.NO_PERMISSION
        self._keys = AuthStrategy(node.clock.elapsed_ms)
        self._rights = AuthStrategy(node.clock.elapsed_ms)
        self.begin()

    def begin(self) -> None:
        """Obey the config as it is now, and forget what was decided so far, as a start does."""
        config = self._config
        self._cluster = config.broker_cluster_name
        self.authenticates = config.authentication_enabled
        self.authorizes = config.authorization_enabled
        self._keys.begin(
            config.authentication_whitelist,
            config.stateful_authentication_cache_expired_second
            if config.authentication_strategy.endswith("StatefulAuthenticationStrategy")
            else None,
            config.stateful_authentication_cache_max_num,
        )
        self._rights.begin(
            config.authorization_whitelist,
            config.stateful_authorization_cache_expired_second
            if config.authorization_strategy.endswith("StatefulAuthorizationStrategy")
            else None,
            config.stateful_authorization_cache_max_num,
        )

    def missing(self) -> Iterator[str]:
        """Yield what lets every request be refused: a check without what it looks into."""
        users, checks = self._users, "authentication" if self.authenticates else "authorization"
        if not users.keeps_users:
            yield (
                f"{checks}Enabled=true without authenticationMetadataProvider: each request that"
                " is checked is refused; see docs/auth.md"
            )
        elif self.authorizes and not users.keeps_rights:
            yield (
                "authorizationEnabled=true without authorizationMetadataProvider: only super users"
                " may do anything; see docs/auth.md"
            )

    def at_front(self) -> AuthControl:
        """Return the check of the front's clients that speak remoting.

        Source: proxy/remoting/activity/AbstractRemotingActivity.java#writeErrResponse (5.5.0)
        """
        found = copy(self)
        found._rules, found._code = FRONT, ResponseCode.SYSTEM_ERROR
        return found

    def check(self, session: Session, host: str, command: RemotingCommand) -> str:
        self._authenticate(session, command)
        self._authorize(session, host, command, self._asks(command))
        return command.ext_fields.get(ACCESS_KEY, "")

    def takes_long(self, command: RemotingCommand) -> bool:
        rule = self._rules.get(command.code)
        if rule is None:
            return False
        names = command.body if rule.of_body else command.ext_fields.get(rule.list_field, "")
        return len(names) > READ_AT_ONCE_BYTES

    def check_in_steps(self, session: Session, host: str, command: RemotingCommand) -> Steps[str]:
        self._authenticate(session, command)
        yield
        acl = self._users.rights_of(command.ext_fields.get(ACCESS_KEY, ""))
        an_ask = 1 + (0 if acl is None else acl.looks)
        looked = 0
        for ask in self._asks(command):
            self._authorize(session, host, command, (ask,))
            looked += an_ask
            if looked >= A_STEP:
                looked = 0
                yield
        return command.ext_fields.get(ACCESS_KEY, "")

    def may_publish(self, session: Session, topic: str) -> bool:
        """Java asks nothing: each member of a producer group sees its half messages."""
        return True

    # -- whose key it is ----------------------------------------------------------------------

    def _authenticate(self, session: Session, command: RemotingCommand) -> None:
        username = command.ext_fields.get(ACCESS_KEY, "")
        try:
            self.require_key(session, str(command.code), username, partial(_is_signed, command))
        except AuthError as error:
            error.needs, error.code = self._needs(command), self._code
            raise

    def require_key(
        self, session: Peer, code: str, username: str, is_right: Callable[[str], bool]
    ) -> None:
        """Raise AuthError unless a request, ``code`` of white lists, has the key of a user.

        ``is_right`` takes the user's password, and returns whether the signature is right.
        """
        if self.authenticates:
            self._keys.evaluate(
                session, code, (username,), partial(_check_key, self._users, username, is_right)
            )

    # -- what the user may --------------------------------------------------------------------

    def _asks(self, command: RemotingCommand) -> Iterator[Ask]:
        return asks_of(command, self._cluster, self._rules) if self.authorizes else iter(())

    def _authorize(
        self, session: Session, host: str, command: RemotingCommand, asks: Iterable[Ask]
    ) -> None:
        username = command.ext_fields.get(ACCESS_KEY)
        try:
            self.require_rights(session, str(command.code), username, host, asks)
        except AuthError as error:
            error.needs, error.code = self._needs(command), self._code
            raise

    def require_rights(
        self, session: Peer, code: str, username: str | None, host: str, asks: Iterable[Ask]
    ) -> None:
        """Raise AuthError unless a user may do all that a request asks for."""
        for ask in asks:
            resource, actions = ask
            self._rights.evaluate(
                session,
                code,
                (username, host, resource.kind, resource.name, *actions),
                partial(require_right, self._users, username, ask, host),
            )

    def _needs(self, command: RemotingCommand) -> Iterator[tuple[str, object]]:
        """Yield the topics, and retry topics of groups, that a refused request is about."""
        if not self.takes_long(command):
            yield from needs_of(asks_of(command, self._cluster, self._rules))


def _check_key(users: Users, username: str, is_right: Callable[[str], bool]) -> None:
    if not users.keeps_users:
        raise AuthError(NO_USERS)
    if not username:
        raise AuthError("username cannot be null.")
    user = users.find(username)
    if user is None:
        raise AuthError(f"User:{username} is not found.")
    if user.user_status == DISABLED:
        raise AuthError(f"User:{username} is disabled.")
    if not is_right(user.password or ""):
        raise AuthError("check signature failed.")


def needs_of(asks: Iterable[Ask]) -> Iterator[tuple[str, object]]:
    """Return the topics, and retry topics of groups, that are asked for, for the journal."""
    for resource, actions in asks:
        if resource.name is not None and resource.kind in (TOPIC, GROUP):
            is_group = resource.kind == GROUP
            yield retry_topic(resource.name) if is_group else resource.name, actions


def require_right(users: Users, username: str | None, ask: Ask, source_ip: str) -> None:
    """Raise AuthError unless a user may do what a request asks for; None is a request without key.

    Source: auth/authorization/strategy/AbstractAuthorizationStrategy.java#doEvaluate,
    auth/authorization/chain/UserAuthorizationHandler.java, AclAuthorizationHandler.java (5.5.0)
    """
    resource, actions = ask

    def refused(why: str) -> AuthError:
        return AuthError(why, resource=resource.key, actions=actions)

    if username is None:
        raise refused(FAILED)
    if not users.keeps_users:
        raise refused(NO_USERS)
    user = users.find(username)
    if user is None:
        raise refused(f"User:{username} not found.")
    if user.user_status == DISABLED:
        raise refused(f"User:{username} is disabled.")
    if user.user_type == SUPER:
        return
    if not users.keeps_rights:
        raise refused(NO_RIGHTS)
    acl = users.rights_of(username)
    entry = None if acl is None else acl.deciding(resource, actions, source_ip)
    if entry is None or entry.decision == DENY:
        raise refused(
            f"{user_key(username)} has no permission to access {resource.key} from {source_ip},"
            f" {'no matched policies' if entry is None else 'the decision is deny'}."
        )


def _is_signed(command: RemotingCommand, password: str) -> bool:
    """Return whether a request has the signature that it should have.

    Source: auth/authentication/builder/DefaultAuthenticationContextBuilder.java#build (5.5.0)
    """
    fields = command.ext_fields
    unsigned = (UNIQUE_MSG_QUERY_FLAG,) if command.version <= LAST_WITHOUT_FLAG else ()
    expected = signature(fields, command.body, password, unsigned=unsigned)
    given = fields.get(SIGNATURE, "")
    return hmac.compare_digest(expected.encode(), given.encode("utf-8", "replace"))
