"""The signature of a request: HMAC-SHA1 over its fields and body, with the key of an account.

Source: acl/common/AclClientRPCHook.java, AclUtils.java#combineRequestContent,
AclSigner.java#calSignature (4.9.7)
"""

from __future__ import annotations

import hmac
from base64 import b64encode
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import msgspec

from fakemq.protocol.headers.query import UNIQUE_MSG_QUERY_FLAG

if TYPE_CHECKING:
    from fakemq.protocol.command import RemotingCommand

ACCESS_KEY = "AccessKey"
SIGNATURE = "Signature"
SECURITY_TOKEN = "SecurityToken"
LAST_WITHOUT_FLAG = 399
"""4.9.3, whose clients do not sign that they ask by a unique key; later ones do.

Source: auth/authentication/builder/DefaultAuthenticationContextBuilder.java#build (5.5.0)
"""


def signature(
    ext_fields: Mapping[str, str],
    body: bytes,
    secret_key: str,
    *,
    unsigned: Collection[str] = (UNIQUE_MSG_QUERY_FLAG,),
) -> str:
    """Return the signature of the fields, sorted by name, and the body.

    ``unsigned`` fields are left out besides the signature. Differs: by default that is a field that
    brokers of 4.9.7 leave out and Java's clients do not, so that these refuse their queries by key.

    Source: acl/plain/PlainAccessValidator.java#parse (4.9.7)
    """
    names = sorted(ext_fields) if _is_ascii(ext_fields) else sorted(ext_fields, key=_units)
    text = "".join(
        [ext_fields[name] for name in names if name != SIGNATURE and name not in unsigned]
    )
    content = text.encode("utf-8", "replace") + body
    return b64encode(hmac.digest(secret_key.encode("utf-8", "replace"), content, "sha1")).decode()


def _is_ascii(names: Mapping[str, str]) -> bool:
    return all(map(str.isascii, names))


def _units(name: str) -> bytes:
    """Return what Java compares: UTF-16 units."""
    return name.encode("utf-16-be", "surrogatepass")


class Credentials(msgspec.Struct, frozen=True):
    """The keys with which a client signs its requests."""

    access_key: str
    secret_key: str
    security_token: str = ""

    def __repr__(self) -> str:  # without secrets: reports of tests show arguments
        return f"Credentials({self.access_key!r})"

    def sign(self, command: RemotingCommand) -> None:
        """Add the keys and the signature to the fields of a request."""
        fields = command.ext_fields
        fields[ACCESS_KEY] = self.access_key
        if self.security_token:
            fields[SECURITY_TOKEN] = self.security_token
        if UNIQUE_MSG_QUERY_FLAG in fields:
            # Brokers of 4.9.7 leave it out for each client, those of 5.5.0 for old ones only.
            command.version = min(command.version, LAST_WITHOUT_FLAG)
        fields[SIGNATURE] = signature(fields, command.body, self.secret_key)
