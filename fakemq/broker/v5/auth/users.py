"""The users of a broker and their rights: what administrators may make of them, and their file.

Each broker has its own: Java does not replicate them. It keeps them in RocksDB; here they are in
one file beside the topics, auth.json.

Source: auth/authentication/manager/AuthenticationMetadataManagerImpl.java,
auth/authorization/manager/AuthorizationMetadataManagerImpl.java,
auth/authentication/provider/LocalAuthenticationMetadataProvider.java,
auth/authorization/provider/LocalAuthorizationMetadataProvider.java,
broker/auth/converter/AclConverter.java (5.5.0)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fakemq.broker.v5.auth.errors import AuthError, NothingKeptError
from fakemq.broker.v5.auth.model import (
    ACTIONS,
    ANY,
    CUSTOM,
    DECISIONS,
    ENABLED,
    MOST_PARTS,
    NORMAL,
    POLICIES,
    STATES,
    SUPER,
    TYPES,
    Acl,
    Policy,
    PolicyEntry,
    Resource,
    Sources,
    is_blank,
    is_ip_or_range,
    user_in,
    user_key,
    word_of,
)
from fakemq.clock.slices import A_STEP, Steps, finished, in_one_step
from fakemq.dispatch.answers import Thrown
from fakemq.protocol.errors import BodyError
from fakemq.protocol.v5.bodies.auth import AclInfo, AuthTables, PolicyEntryInfo, UserInfo

NO_USERS = "The authenticationMetadataProvider is not configured."
NO_RIGHTS = "The authorizationMetadataProvider is not configured."
_BODY = "org.apache.rocketmq.remoting.protocol.body.AclInfo"
_CONVERTER = "org.apache.rocketmq.broker.auth.converter.AclConverter.convertAcl(AclConverter.java"
_ENTRIES_AT_ONCE = 50
"""How many entries one step makes: about half a millisecond."""


class Users:
    """The tables of users and rights. Methods raise AuthError where Java refuses.

    ``keeps_users`` and ``keeps_rights`` are whether there is a provider for them; ``persist``
    writes what was changed before its first step.
    """

    def __init__(
        self,
        *,
        keeps_users: bool = False,
        keeps_rights: bool = False,
        persist: Callable[[], Steps[None]] = lambda: in_one_step(None),
    ) -> None:
        self.keeps_users = keeps_users
        self.keeps_rights = keeps_rights
        self.persist = persist
        self.changes = 0
        """How often something was changed; the caller then calls `persist`."""
        self._users: dict[str, UserInfo] = {}
        self._acls: dict[str, Acl] = {}
        """By subject."""
        self.has_rules = False
        """Whether the rules of a test were taken over."""

    # -- users --------------------------------------------------------------------------------

    def find(self, username: str) -> UserInfo | None:
        """Return a user; None if there is none, or none is kept."""
        return self._users.get(username)

    def user(self, username: str | None) -> UserInfo | None:
        """Return a user; None if there is none."""
        if is_blank(username):
            raise AuthError("username can not be blank")
        self._require_users()
        return self._users.get(username or "")

    def all_users(self, name_filter: str | None) -> list[UserInfo]:
        """Return the users whose names contain a text, in the order of RocksDB: that of bytes."""
        self._require_users()
        return [
            self._users[name]
            for name in _sorted(self._users)
            if is_blank(name_filter) or (name_filter or "") in name
        ]

    def create_user(self, user: UserInfo) -> None:
        """Add a user; words that Java does not know are its defaults."""
        if is_blank(user.username):
            raise AuthError("username can not be blank")
        if is_blank(user.password):
            raise AuthError("password can not be blank")
        self._require_users()
        name = user.username or ""
        if name in self._users:
            raise AuthError("The user is existed")
        self._users[name] = UserInfo(
            username=name,
            password=user.password,
            user_type=word_of(TYPES, user.user_type) or NORMAL,
            user_status=word_of(STATES, user.user_status) or ENABLED,
        )
        self.changes += 1

    def update_user(self, user: UserInfo) -> None:
        """Change what ``user`` names of a user."""
        old = self.user(user.username)
        if old is None:
            raise AuthError("The user is not exist")
        self._users[user.username or ""] = UserInfo(
            username=user.username,
            password=old.password if is_blank(user.password) else user.password,
            user_type=word_of(TYPES, user.user_type) or old.user_type,
            user_status=word_of(STATES, user.user_status) or old.user_status,
        )
        self.changes += 1

    def delete_user(self, username: str) -> None:
        """Delete a user and its rights."""
        self._users.pop(username, None)
        self.changes += 1
        self._require_rights()
        self._acls.pop(user_key(username), None)
        self.changes += 1

    def is_super(self, username: str) -> bool:
        """Return whether a user is a super user."""
        user = self.user(username)
        if user is None:
            raise AuthError(f"User:{username} is not found")
        return user.user_type == SUPER

    # -- rights -------------------------------------------------------------------------------

    def acl(self, subject: str | None) -> Acl | None:
        """Return the rights of a subject, which must be there; None if it has none."""
        if subject is None:
            raise AuthError("The subject is null.")
        self._require_subject(subject, "The subject is not exist.")
        self._require_rights()
        return self._acls.get(subject)

    def rights_of(self, username: str) -> Acl | None:
        """Return the rights of a user; None if it has none, or none are kept."""
        return self._acls.get(user_key(username))

    def all_acls(self, subject_filter: str | None, resource_filter: str | None) -> list[AclInfo]:
        """Return the rights of subjects, and to resources, whose texts contain these."""
        if not self.keeps_rights:
            raise Thrown(
                f"java.lang.IllegalStateException: {NO_RIGHTS}, org.apache.rocketmq.auth"
                ".authorization.manager.AuthorizationMetadataManagerImpl"
                ".getAuthorizationMetadataProvider(AuthorizationMetadataManagerImpl.java:287)"
            )
        found = []
        for subject in _sorted(self._acls):
            if is_blank(subject_filter) or (subject_filter or "") in subject:
                about = "" if is_blank(resource_filter) else resource_filter or ""
                info = self._acls[subject].about(about)
                if info is not None:
                    found.append(info)
        return found

    def grant(self, acl: Acl) -> None:
        """Add to the rights of a subject, or give it some: both codes, 3006 and 3007, do this."""
        self._require_subject(acl.subject, f"The subject of {acl.subject} is not exist.")
        self._require_rights()
        old = self._acls.get(acl.subject)
        if (acl.parts if old is None else old.parts_with(acl.policies)) > MOST_PARTS:
            raise _too_many(acl.subject)
        if old is None:
            self._acls[acl.subject] = acl
        else:
            old.update(acl.policies)
        self.changes += 1

    def take(self, subject: str | None, policy_type: str | None, resource: str | None) -> None:
        """Take the right to a resource from a subject; all of them where there is none such."""
        acl = self.acl(subject)
        if acl is None:
            raise AuthError("The acl is not exist.")
        found = Resource.of(resource)
        if found is not None:
            acl.delete(word_of(POLICIES, policy_type) or CUSTOM, found)
        if found is None or not acl.policies:
            del self._acls[acl.subject]
        self.changes += 1

    # -- the file -----------------------------------------------------------------------------

    def persisted(self) -> AuthTables:
        """Return what the file is to contain."""
        return finished(self.persisted_in_steps())

    def persisted_in_steps(self) -> Steps[AuthTables]:
        """As `persisted`; what changes meanwhile is written after it."""
        users, acls, looked = [], [], 0
        for name in _sorted(self._users):
            user = self._users.get(name)
            if user is not None:
                users.append(user)
            looked += 1
            if looked % A_STEP == 0:
                yield
        for subject in _sorted(self._acls):
            acl = self._acls.get(subject)
            if acl is not None:
                acls.append(acl.info())
                looked += acl.parts
            if looked >= A_STEP:
                looked = 0
                yield
        return AuthTables(users=users, acls=acls, has_rules=self.has_rules)

    def load(self, saved: AuthTables) -> None:
        """Take over what the file contains."""
        self._users = {user.username: user for user in saved.users if user.username}
        self._acls = {}
        self.has_rules = saved.has_rules
        for info in saved.acls:
            try:
                acl = acl_of(info, None)
            except (AuthError, Thrown) as error:
                raise BodyError(f"{info.subject}: {error}") from None
            self._acls[acl.subject] = acl

    def reset(self) -> None:
        """Forget everything."""
        self._users.clear()
        self._acls.clear()
        self.has_rules = False

    # -- what is not there --------------------------------------------------------------------

    def _require_users(self) -> None:
        if not self.keeps_users:
            raise NothingKeptError(NO_USERS)

    def _require_rights(self) -> None:
        if not self.keeps_rights:
            raise NothingKeptError(NO_RIGHTS)

    def _require_subject(self, subject: str, why: str) -> None:
        self._require_users()
        if subject.partition(":")[2] not in self._users:
            raise AuthError(why)


def acl_of(info: AclInfo, subject: str | None) -> Acl:
    """Return the rights that an administrator sends; ``subject`` counts where they name none."""
    return finished(acl_in_steps(info, subject))


def acl_in_steps(info: AclInfo, subject: str | None) -> Steps[Acl]:
    """As `acl_of`.

    Source: broker/auth/converter/AclConverter.java#convertAcl (5.5.0)
    """
    kinds: list[tuple[str, list[PolicyEntryInfo]]] = []
    for policy in info.policies or ():
        if policy is None:
            raise _null('getPolicyType()" because "policy"', "PolicyInfo", 43)
        if policy.entries:
            kind = word_of(POLICIES, policy.policy_type) or CUSTOM
            kinds.append((kind, [_not_null(entry) for entry in policy.entries]))
    user = user_in(info.subject)
    if user is None:
        user = user_in(subject)
    if user is None:
        raise NothingKeptError("the subject is null")  # Java's null pointer, as little seen
    if not kinds:
        raise AuthError("The policies is empty.")
    infos = [entry for _, entries in kinds for entry in entries]
    parts = sum(1 + len(one.actions or ()) + len(one.source_ips or ()) for one in infos)
    if parts > MOST_PARTS:  # a limit of all, and so of each turn of the loop
        raise _too_many(user_key(user))
    policies = []
    for kind, entries in kinds:
        policies.append(made := Policy(kind))
        for number, entry in enumerate(entries):
            made.add(_entry(entry))
            if number % _ENTRIES_AT_ONCE == 0:
                yield
    return Acl(user_key(user), policies)


def _not_null(entry: PolicyEntryInfo | None) -> PolicyEntryInfo:
    if entry is None:
        raise _null('getResource()" because "entryInfo"', "PolicyEntryInfo", 51)
    if entry.actions is None:
        raise Thrown(
            'java.lang.NullPointerException: Cannot invoke "java.util.List.iterator()" because the'
            f' return value of "{_BODY}$PolicyEntryInfo.getActions()" is null, {_CONVERTER}:54)'
        )
    return entry


def _null(what: str, kind: str, line: int) -> Thrown:
    """Return what Java throws at a null in a list."""
    return Thrown(
        f'java.lang.NullPointerException: Cannot invoke "{_BODY}${kind}.{what} is null,'
        f" {_CONVERTER}:{line})"
    )


def _too_many(subject: str) -> AuthError:
    return AuthError(
        f"The rights of {subject} would have more than {MOST_PARTS} entries, actions and addresses:"
        " fakemq keeps no more."
    )


def _entry(info: PolicyEntryInfo) -> PolicyEntry:
    """Return an entry; raise AuthError if a part of it is missing or wrong, in Java's order.

    Source: auth/authorization/manager/AuthorizationMetadataManagerImpl.java#validate (5.5.0)
    """
    resource = Resource.of(info.resource)
    if resource is None:
        raise AuthError("The resource is null.")
    actions = [word for one in info.actions or () if (word := word_of(ACTIONS, one)) is not None]
    if not actions:
        raise AuthError("The actions is empty.")
    if ANY in actions:
        raise AuthError("The actions can not be Any.")
    source_ips = []
    for source_ip in info.source_ips or ():
        if source_ip is None or is_blank(source_ip):
            raise AuthError("The source ip is empty.")
        if not is_ip_or_range(source_ip):
            raise AuthError("The source ip is invalid.")
        source_ips.append(source_ip)
    decision = word_of(DECISIONS, info.decision)
    if decision is None:
        raise AuthError("The decision is null or illegal.")
    return PolicyEntry(resource, actions, Sources(source_ips) if source_ips else None, decision)


def _sorted(names: Iterable[str]) -> list[str]:
    return sorted(names, key=lambda name: name.encode("utf-8", "surrogatepass"))
