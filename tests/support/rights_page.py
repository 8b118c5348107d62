"""docs/rights.md, made from the table of rights.

Write it again with ``python -m tests.support.rights_page``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from fakemq.broker.acl.rights import BROKER, NAMESRV, RPCS, RightsRow
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.reference import NAMES, Reference, find_reference
from tests.support.pages import DOCS

_NAMES: Final = {int(code): code.name for code in (*RequestCode, *RequestCode5)}

_TOP = """# What each request asks for

Each request to a broker with [access control](acl.md) needs the key of an account and its
signature. This page has what the account needs beside that. It is made by
`tests/support/rights_page.py` from the table that brokers use, `fakemq/broker/acl/rights.py`; a
test fails for a code or an RPC that the table does not have.

- Of 4.9.7 a row says what 4.9.7 asks. "4.9.7 asks for none" is a hole of that release: an account
  without a right passes there, and here. LITE_PULL_MESSAGE, which 4.9.7 does not have, asks for
  what PULL_MESSAGE does.
- A broker of 5.5.0 reads no `aclEnable`. Of `--reference 5.5.0`, and of 5.3.2, a row asks for what
  5.5.0's own access control does, in the words of `plain_acl.yml`. Where that asks for nothing,
  fakemq asks for what the request reads or changes.
- A dash: the release has no such code.

## Brokers

"""
_NAMESRV_TOP = """
## Name servers

"""
_GRPC_TOP = """
## RPCs

For each call, the client id must be the caller's own: an id belongs to the account that first
said with it what the client is, until that client ends, is forgotten, or the account is deleted.

"""


def rights_page() -> str:
    """Return the text of docs/rights.md."""
    rpcs = ((name, rule.asks) for name, rule in RPCS.items())
    return "".join(
        (
            *(_TOP, _codes(BROKER), _NAMESRV_TOP, _codes(NAMESRV), _GRPC_TOP),
            _table(("RPC", "asks for"), rpcs),
        )
    )


def _codes(rows: Mapping[int, RightsRow]) -> str:
    return _table(
        ("code", "name", *NAMES),
        (
            (code, _NAMES[code], *(_cell(code, row, find_reference(name)) for name in NAMES))
            for code, row in sorted((int(code), row) for code, row in rows.items())
        ),
    )


def _cell(code: int, row: RightsRow, reference: Reference) -> str:
    rule = row.in_v5 if reference.folder else row.in_4_9_7
    return "–" if rule is None or code in reference.gone_codes else rule.asks


def _table(names: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    lines = (names, ("---",) * len(names), *rows)
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


if __name__ == "__main__":
    (DOCS / "rights.md").write_text(rights_page(), encoding="utf-8")
