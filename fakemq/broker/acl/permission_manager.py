"""The rules of one broker: read from its files, checked, and changed by operators.

Java's tables are kept as they are, because clients can see their habits:

1. An account that was deleted from a file stays known after the file is read again, and is refused
   with a text of its own.
2. A file that gets its first addresses later adds them again each time it is read.
3. A change by an operator holds at once for what the request names, and for the rest of the account
   when the file is read again, up to 5 s later.

Source: acl/plain/PlainPermissionManager.java (4.9.7)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fakemq.broker.acl.accounts import (
    MOST_NAMED,
    Account,
    AclConfig,
    PlainAccessConfig,
    entry_of,
    mistyped,
    named,
    new_entry,
    text_of,
    without_effect,
)
from fakemq.broker.acl.addresses import AddressPattern, address_pattern
from fakemq.broker.acl.errors import AclError, brief
from fakemq.broker.acl.permissions import Perm, check_entries
from fakemq.broker.acl.rights import Rights, merged, merged_in_steps
from fakemq.errors import did_you_mean
from fakemq.protocol.bodies.topic import DataVersion
from fakemq.protocol.java import java_hash_map_order
from fakemq.protocol.signature import ACCESS_KEY, SIGNATURE, signature
from fakemq.protocol.topics import TRACE_TOPIC

if TYPE_CHECKING:
    from fakemq.broker.acl.homes import AclHome
    from fakemq.clock.slices import Steps
    from fakemq.protocol.command import RemotingCommand

_WHITE = "globalWhiteRemoteAddresses"
_ACCOUNTS = "accounts"
_VERSION = "dataVersion"
_NAMES = (_WHITE, _ACCOUNTS, _VERSION)
READ_AT_ONCE_BYTES = 1 << 16
"""A larger body is checked in steps. It is not read for the journal alone: its sender may have no
right to anything."""
_VALIDATE = "PlainPermissionManager.validate"


class PlainPermissionManager:
    """The accounts and addresses of all files of ``home``. Methods raise AclError.

    ``now_ms`` is the wall time; ``warn`` takes a text about a name of a file without effect;
    ``rights`` says what requests need, by default those of 4.9.7.
    """

    def __init__(
        self,
        home: AclHome,
        *,
        now_ms: Callable[[], int],
        warn: Callable[[str], None],
        rights: Rights | None = None,
    ) -> None:
        self._home = home
        self._rights = Rights() if rights is None else rights
        self._now_ms = now_ms
        self._warn = warn
        self._files: list[str] = []
        self._accounts: dict[str, dict[str, Account]] = {}
        """By file and access key."""
        self._file_of: dict[str, str] = {}
        """By access key."""
        self._white: list[AddressPattern] = []
        """Of all files."""
        self._white_of: dict[str, list[AddressPattern]] = {}
        """By file."""
        self.versions: dict[str, DataVersion] = {}
        """By file."""
        self.version = DataVersion(timestamp=now_ms())
        """That of the default file when it was read."""

    # -- reading ------------------------------------------------------------------------------

    def load(self) -> None:
        """Read all files. If that fails, what was read before stays."""
        home = self._home
        home.prepare()
        self._files = home.files()
        accounts: dict[str, dict[str, Account]] = {}
        file_of: dict[str, str] = {}
        white: list[AddressPattern] = []
        white_of: dict[str, list[AddressPattern]] = {}
        versions: dict[str, DataVersion] = {}
        for path in self._files:
            content = home.read(path)
            if not content:
                continue
            self._warn_of_unknown(path, content)
            patterns = _patterns(content)
            if patterns:
                white_of[path] = patterns
                white += patterns
            found: dict[str, Account] = {}
            repeated: dict[str, str] = {}
            for account in self._accounts_in(path, content):
                access_key = account.access_key
                if file_of.setdefault(access_key, path) != path or access_key in found:
                    repeated[access_key] = file_of[access_key]
                else:
                    found[access_key] = account
            self._warn_of_repeated(
                path, repeated, "the first entry counts, and once the file has changed the last one"
            )
            if found:
                accounts[path] = found
            versions[path] = self._version_in(content)
        self.version = versions.get(home.default_file, self.version)
        self.versions, self._white, self._white_of = versions, white, white_of
        self._accounts, self._file_of = accounts, file_of

    def load_file(self, path: str) -> None:
        """Read one file again, which has changed."""
        content = self._home.read(path)
        if not content:
            return
        self._warn_of_unknown(path, content)
        patterns = _patterns(content)
        self._white += patterns
        if path in self._white_of:
            for pattern in self._white_of[path]:
                if pattern in self._white:
                    self._white.remove(pattern)
            self._white_of[path] = patterns
        found: dict[str, Account] = {}
        repeated: dict[str, str] = {}
        for account in self._accounts_in(path, content):
            access_key = account.access_key
            other = self._file_of.setdefault(access_key, path)
            if other != path or access_key in found:
                repeated[access_key] = other
            if other == path:
                found[access_key] = account
        self._warn_of_repeated(path, repeated, "the last entry counts")
        version = self._version_in(content)
        self._accounts[path] = found
        self.versions[path] = version
        if path == self._home.default_file:
            self.version = version

    def _accounts_in(self, path: str, content: Mapping[str, Any]) -> list[Account]:
        entries = _list(content, _ACCOUNTS)
        configs = [PlainAccessConfig.of(entry) for entry in entries]
        for text in [*mistyped(configs), *without_effect(entries, configs)]:
            self._warn(f"{path}: {text}")
        return [Account.of(config) for config in configs]

    def _warn_of_unknown(self, path: str, content: Mapping[str, Any]) -> None:
        """Warn of names beside the accounts that no file has; there, case matters."""
        unknown = [str(name) for name in content if name not in _NAMES]
        for name in unknown[:MOST_NAMED]:
            hint = did_you_mean(name, _NAMES)
            if name in ("users", "acls"):
                hint = ": users and their rights need the reference 5.5.0"
            self._warn(f"{path}: {name} has no effect{hint}")

    def _warn_of_repeated(self, path: str, repeated: Mapping[str, str], counts: str) -> None:
        """Warn of accounts of a file; ``repeated`` has the file in which each was found before.

        ``counts`` says which of two entries of one file does.
        """
        by_file: dict[str, list[str]] = {}
        for access_key, other in repeated.items():
            by_file.setdefault(other, []).append(access_key)
        for other, access_keys in by_file.items():
            same = other == path
            where = f"twice: {counts}" if same else f"also in {other}: the entry there counts"
            self._warn(f"{path}: {named(access_keys)}: {where}, as in RocketMQ")

    def _version_in(self, content: Mapping[str, Any]) -> DataVersion:
        now = DataVersion(timestamp=self._now_ms())
        entries = _list(content, _VERSION)
        if not entries:
            return now
        return DataVersion(
            timestamp=_whole(entries[0], "timestamp", now.timestamp),
            counter=_whole(entries[0], "counter", 0),
        )

    # -- checking -----------------------------------------------------------------------------

    def is_white(self, host: str) -> bool:
        """Return whether a peer at ``host`` needs no key."""
        return any(pattern.matches(host) for pattern in self._white)

    def account(self, access_key: str) -> Account | None:
        """Return an account by its key; None if there is none."""
        return self._accounts.get(self._file_of.get(access_key, ""), {}).get(access_key)

    def may_publish(self, access_key: str | None, topic: str) -> bool:
        """Return whether an account may send to a topic now; "" stands for an address."""
        if not access_key:
            return access_key == ""
        account = self.account(access_key)
        if account is None:
            return False
        try:
            account.require({topic: Perm.PUB})
        except AclError:
            return False
        return True

    def validate(self, host: str, command: RemotingCommand) -> str:
        """Return the account of a request; "" if its address needs none.

        Raise AclError unless a peer at ``host`` may send this request.
        """
        needs = self._rights.needs(command)
        try:
            account = self._account_of(host, command)
            if account is None:
                return ""
            admin = self._rights.needs_admin(command.code)
            needed = merged(needs)
            if needed.get(TRACE_TOPIC) is not Perm.PUB:
                account.require(needed, admin_for=command.code if admin else None)
        except AclError as error:
            if not error.needs and len(command.body) <= READ_AT_ONCE_BYTES:
                error.needs = needs
            raise
        return account.access_key

    def takes_long(self, command: RemotingCommand) -> bool:
        """Return whether a request may name so much that it is checked in steps."""
        return len(command.body) > READ_AT_ONCE_BYTES and self._rights.in_body(command.code)

    def validate_in_steps(self, host: str, command: RemotingCommand) -> Steps[str]:
        """As `validate`, of a request for which `takes_long` is true."""
        needs = self._rights.needs(command)
        yield
        account = self._account_of(host, command)
        if account is None:
            return ""
        needed = yield from merged_in_steps(needs)
        if needed.get(TRACE_TOPIC) is not Perm.PUB:
            yield from account.require_in_steps(needed)
        return account.access_key

    def _account_of(self, host: str, command: RemotingCommand) -> Account | None:
        """Return the account that has signed a request; None if its address needs none."""
        if self.is_white(host):
            return None
        fields = command.ext_fields
        access_key = fields.get(ACCESS_KEY)
        if access_key is None:
            raise AclError("No accessKey is configured", _VALIDATE, 663)
        path = self._file_of.get(access_key)
        if path is None:
            raise AclError(f"No acl config for {access_key}", _VALIDATE, 667)
        account = self._accounts.get(path, {}).get(access_key)
        if account is None:
            raise AclError(f"No PlainAccessResource for accessKey={access_key}", _VALIDATE, 674)
        if account.white.matches(host):
            return None
        if fields.get(SIGNATURE) != signature(fields, command.body, account.secret_key):
            raise AclError(f"Check signature failed for accessKey={access_key}", _VALIDATE, 683)
        return account

    # -- changing -----------------------------------------------------------------------------

    def update_access_config(self, config: PlainAccessConfig) -> None:
        """Create an account in the default file, or change one in its file."""
        config.require_keys()
        check_entries(config.topic_perms)
        check_entries(config.group_perms)
        access_key = config.access_key or ""
        path = self._file_of.get(access_key)
        is_new = path is None
        path = path or self._home.default_file
        content = self._home.read(path)
        if content is None:
            content = {_ACCOUNTS: []}
        accounts = content.get(_ACCOUNTS) or []
        entry = None if is_new else entry_of(accounts, access_key)
        if entry is not None:
            accounts.remove(entry)
            accounts.append(new_entry(entry, config))
        elif is_new or content.get(_ACCOUNTS) is None:
            accounts.append(new_entry({}, config))
        content[_ACCOUNTS] = accounts
        self._file_of[access_key] = path
        account = Account.of(config)
        found = self._accounts.setdefault(path, {})
        if is_new or not found or access_key in found:
            found[access_key] = account
        self._write(path, content)

    def delete_access_config(self, access_key: str) -> bool:
        """Delete an account from its file; return whether there was one."""
        path = self._file_of.get(access_key)
        if not access_key or path is None:
            return False
        content = self._home.read(path)
        if not content:
            return True
        entry = entry_of(content.get(_ACCOUNTS) or [], access_key)
        if entry is None:
            return False
        content[_ACCOUNTS].remove(entry)
        del self._file_of[access_key]
        self._write(path, content)
        return True

    def update_global_white_addrs(self, addresses: Sequence[str], path: str) -> bool:
        """Set the addresses of a file that need no key, "" for the default file.

        They hold when the file is read again. Return False if the broker has no such file.
        Differs: Java takes every path that begins with its home.
        """
        path = path or self._home.default_file
        if path not in self._files:
            return False
        content = self._home.read(path) or {}
        content[_WHITE] = list(addresses)
        self._write(path, content)
        return True

    def _write(self, path: str, content: dict[str, Any]) -> None:
        entries = content.get(_VERSION) or [{}]
        before = DataVersion(
            timestamp=_whole(entries[0], "timestamp", 0), counter=_whole(entries[0], "counter", 0)
        )
        version = self.versions[path] = before.next(self._now_ms())
        content[_VERSION] = [{"counter": version.counter, "timestamp": version.timestamp}]
        self._home.write(path, content)

    # -- showing ------------------------------------------------------------------------------

    def all_versions(self) -> dict[str, DataVersion]:
        """Return the version of each file, in the order of Java's map."""
        return {path: self.versions[path] for path in java_hash_map_order(self.versions)}

    def config(self) -> AclConfig:
        """Return what the files say now. Source: #getAllAclConfig"""
        white: list[str] = []
        configs: dict[str | None, PlainAccessConfig] = {}
        for path in self._files:
            content = self._home.read(path) or {}
            white += [str(address) for address in _list(content, _WHITE)]
            for entry in _list(content, _ACCOUNTS):
                config = PlainAccessConfig.of(entry)
                configs.setdefault(config.access_key, config)
        return AclConfig(global_white_addrs=white, plain_access_configs=list(configs.values()))


def _patterns(content: Mapping[str, Any]) -> list[AddressPattern]:
    return [
        address_pattern(None if text is None else text_of(text)) for text in _list(content, _WHITE)
    ]


def _list(content: Mapping[str, Any], name: str) -> list[Any]:
    """Return a list of a file; nothing is an empty one."""
    value = content.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise AclError(f"{name}: {brief(value)}: expected a list")
    return value


def _whole(entry: object, name: str, default: int) -> int:
    value = entry.get(name, default) if isinstance(entry, Mapping) else default
    try:
        return int(value)
    except (TypeError, ValueError):
        raise AclError(f"{name}: {brief(value)}: expected a whole number") from None
