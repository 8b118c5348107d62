"""Signatures of requests by hand; deliberately a second implementation, see `wire/raw.py`.

Source: acl/common/AclUtils.java#combineRequestContent, AclSigner.java (4.9.7)
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping

from conformance.wire.requests import texts

HIDDEN = ("Signature",)


def signed(
    fields: Mapping[str, object],
    body: bytes = b"",
    *,
    account: str,
    secret: str = "12345678",
    token: str = "",
) -> dict[str, object]:
    """Return the fields of a request with the keys of an account, and its signature."""
    found: dict[str, str] = {**texts(fields), "AccessKey": account}
    if token:
        found["SecurityToken"] = token
    names = sorted(found, key=lambda name: name.encode("utf-16-be"))  # as Java compares texts
    content = "".join(found[name] for name in names).encode() + body
    digest = hmac.new(secret.encode(), content, hashlib.sha1).digest()
    return {**found, "Signature": base64.b64encode(digest).decode()}
