"""What a broker's users begin with.

Source: auth/authentication/manager/AuthenticationMetadataManagerImpl.java#initUser,
remoting/protocol/.../SessionCredentials.java (5.5.0)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, TypeVar

from fakemq.broker.acl.errors import AclError
from fakemq.broker.tables.persistence import AUTH
from fakemq.broker.v5.auth.migration import FirstUser, users_in
from fakemq.broker.v5.auth.model import SUPER, TYPES, is_blank, word_of
from fakemq.broker.v5.auth.users import NO_USERS, Users
from fakemq.clock.slices import finished
from fakemq.dispatch.answers import Thrown
from fakemq.errors import ConfigError, printable
from fakemq.protocol.bodies.body import Body
from fakemq.protocol.errors import BodyError
from fakemq.protocol.signature import Credentials
from fakemq.protocol.v5.bodies.auth import AuthTables, UserInfo

if TYPE_CHECKING:
    from fakemq.broker.acl.homes import AclHome
    from fakemq.broker.tables.persistence import Persistence
    from fakemq.config.v5.model import BrokerConfig5

B = TypeVar("B", bound=Body)
_INNER = "innerClientAuthenticationCredentials"


class SessionCredentials(Body):
    """Keys of innerClientAuthenticationCredentials."""

    access_key: str | None = None
    secret_key: str | None = None
    security_token: str | None = None

    def __repr__(self) -> str:  # without the secret key
        return f"SessionCredentials({self.access_key!r})"


def make_users(config: BrokerConfig5, persistence: Persistence) -> Users:
    """Return the users of a broker, with a file of their own."""
    users = Users(
        keeps_users=bool(config.authentication_metadata_provider),
        keeps_rights=bool(config.authorization_metadata_provider),
        persist=lambda: file.persist_change(),
    )
    file = persistence.add(AUTH, lambda: AuthTables, field="users")
    file.connect(users, users.reset, users.persisted_in_steps)
    return users


def first_users(config: BrokerConfig5, users: Users) -> list[FirstUser]:
    """Return the users that the config names; raise ConfigError for wrong ones."""
    if not users.keeps_users:
        for key, text in (
            ("initAuthenticationUser", config.init_authentication_user),
            (_INNER, config.inner_client_authentication_credentials),
        ):
            if text.strip():
                raise ConfigError(f"{key}: {NO_USERS}")
    named = [_init_user(config), _inner_user(config)]
    return _checked(FirstUser(user) for user in named if user is not None)


def users_of_home(home: AclHome | None) -> list[FirstUser]:
    """Return the users of a home; raise ConfigError for wrong ones."""
    return [] if home is None else _checked(users_in(home))


def _checked(found: Iterable[FirstUser]) -> list[FirstUser]:
    try:
        users = list(found)
        for user, _ in users:
            if is_blank(user.username) or is_blank(user.password):
                raise AclError(f"a user without a name or a password: {user.username}")
    except (AclError, Thrown) as error:
        raise ConfigError(printable(f"the users of auth 2.0: {error}")) from None
    return users


def own_keys(config: BrokerConfig5, rules: Iterable[FirstUser]) -> Credentials | None:
    """Return the keys with which a broker signs what it asks of others; None if it has none.

    They are those of innerClientAuthenticationCredentials. Where a test has ``rules`` without them,
    they are those of its first super user: else slaves would learn no topics of their masters.
    """
    inner = inner_credentials(config)
    if inner is not None:
        if is_blank(inner.access_key) or is_blank(inner.secret_key):
            return None
        return Credentials(
            inner.access_key or "", inner.secret_key or "", inner.security_token or ""
        )
    for user, _ in rules:
        if word_of(TYPES, user.user_type) == SUPER:
            return Credentials(user.username or "", user.password or "")
    return None


def begin(users: Users, first: Iterable[FirstUser], rules: Sequence[FirstUser]) -> None:
    """Add those users of a start that are not there: ``rules``, those of a test, only once.

    Java does so with each start, whatever was deleted before; it has no rules of a test.
    """
    before = users.changes
    for user, acl in (*first, *(() if users.has_rules else rules)):
        if users.find(user.username or "") is None:
            users.create_user(user)
            if acl is not None:
                users.grant(deepcopy(acl))
    if rules and not users.has_rules:
        users.has_rules = True
        users.changes += 1
    if users.changes != before:
        finished(users.persist())


def _init_user(config: BrokerConfig5) -> UserInfo | None:
    text = config.init_authentication_user
    if not text.strip():
        return None
    user = _decoded(UserInfo, text, "initAuthenticationUser", '{"username":"…","password":"…"}')
    user.user_type = SUPER
    return user


def _inner_user(config: BrokerConfig5) -> UserInfo | None:
    found = inner_credentials(config)
    if found is None:
        return None
    return UserInfo(username=found.access_key, password=found.secret_key, user_type=SUPER)


def inner_credentials(config: BrokerConfig5) -> SessionCredentials | None:
    """Return the keys with which a broker signs its own requests; None if it has none."""
    text = config.inner_client_authentication_credentials
    if not text.strip():
        return None
    return _decoded(SessionCredentials, text, _INNER, '{"accessKey":"…","secretKey":"…"}')


def _decoded(kind: type[B], text: str, key: str, expected: str) -> B:
    try:
        return kind.decode(text.encode())
    except BodyError:
        # Without the text, which has a password.
        raise ConfigError(f"{key}: expected JSON such as {expected}") from None
