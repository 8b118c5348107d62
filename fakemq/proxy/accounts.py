"""Which callers are allowed: the accounts of the brokers' plain_acl.yml, and what each RPC needs.

Brokers of 5.5.0 have none: `fakemq.proxy.auth` checks their users. The front of 4.9.7's and 5.3.2's
checks the accounts that they have (``--acl``), with the errors of 5.5.0. A call without a
key is refused, too, as soon as there are accounts; a cluster without accounts takes every call.

A client id belongs to the account that said first what the client is. Java's proxy asks nothing of
the kind: there, an account ends or notifies the clients of others. A question about a half message
goes to a client whose account may send to its topic.

Source: auth/authentication/builder/DefaultAuthenticationContextBuilder.java,
auth/authentication/chain/DefaultAuthenticationHandler.java (5.5.0)
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Any

from fakemq.broker.acl.access import note_refusal
from fakemq.broker.acl.errors import AclError
from fakemq.broker.acl.rights import RPCS
from fakemq.broker.v5.auth.errors import AuthError
from fakemq.journal.journal import shortened
from fakemq.protocol.hosts import host_of
from fakemq.proxy.call import AUTHORIZATION, DATE_TIME
from fakemq.proxy.status import Code, RpcError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.broker.acl.permission_manager import PlainPermissionManager
    from fakemq.proxy.call import Context
    from fakemq.proxy.proxy import Proxy


def check(
    manager: PlainPermissionManager,
    context: Context,
    request: Any,
    owner_of: Callable[[str], str | None],
) -> None:
    """Raise RpcError unless the caller of a request may send it; note the account of the caller.

    ``owner_of`` returns the account to which a client id belongs.
    """
    host = host_of(context.remote_addr)
    context.account = ""
    if manager.is_white(host):
        return
    try:
        access_key, given, content = signature_of(context)
    except AuthError as error:
        raise _refused(error.message or "") from None
    if not access_key:
        raise _refused("username cannot be null.")
    account = manager.account(access_key)
    if account is None:
        raise _refused(f"User:{access_key} is not found.")
    if account.white.matches(host):
        return
    expected = hmac.digest(account.secret_key.encode("utf-8", "replace"), content, "sha1")
    if not hmac.compare_digest(expected, given):
        raise _refused("check signature failed.")
    context.account = access_key
    rule = RPCS.get(context.call.rpc.name)
    if rule is None:
        return
    try:
        account.require_each(() if rule.needs is None else rule.needs(request))
    except AclError as error:
        raise _refused(error.message or "") from None
    owner = owner_of(context.client_id)
    # A client may get new keys: then those that it had are often deleted.
    if owner in (None, access_key) or (owner and manager.account(owner) is None):
        return
    raise _refused(f"the client id {shortened(context.client_id)} belongs to another account.")


def note_refused(proxy: Proxy, context: Context, request: Any, error: RpcError) -> None:
    """Write to the journal that a call was refused."""
    rule = RPCS.get(context.call.rpc.name)
    needs = None if rule is None else rule.needs
    refusal = AclError(error.message)
    refusal.needs = () if needs is None else needs(request)
    note_refusal(
        proxy.journal,
        node=proxy.name,
        peer=context.remote_addr,
        host=host_of(context.remote_addr),
        error=refusal,
        user=context.account or "",
    )


def signature_of(context: Context) -> tuple[str, bytes, bytes]:
    """Return the key that a caller names, its signature, and what is signed.

    The form is ``MQv2-HMAC-SHA1 Credential=KEY/…, SignedHeaders=…, Signature=HEX``. Raise AuthError
    for another one.
    """
    authorization = context.metadata.get(AUTHORIZATION, "")
    if not authorization:
        return "", b"", b""
    signed = context.metadata.get(DATE_TIME, "")
    if not signed:
        raise AuthError("datetime is null.")
    _, blank, items = authorization.partition(" ")
    if not blank:
        raise AuthError("authentication header is incorrect.")
    access_key, given = "", b""
    for item in items.split(","):
        name, equals, value = item.strip().partition("=")
        if not equals:
            raise AuthError("authentication keyValues length is incorrect, actual length=1.")
        if name == "Credential":
            if value and not value.strip("/"):  # Java splits it into nothing
                raise AuthError("authentication credential length is incorrect, actual length=0.")
            access_key = value.split("/")[0]
        elif name == "Signature":
            try:
                given = bytes.fromhex(value)
            except ValueError:
                raise AuthError("create authentication context error.") from None
    return access_key, given, signed.encode("utf-8", "replace")


def _refused(text: str) -> RpcError:
    return RpcError(Code.UNAUTHORIZED, text)
