"""docs/rights.md, made from the table of rights.

Write it again with ``python -m tests.support.rights_page``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from fakemq.broker.acl.rights import BROKER, NAMESRV, RPCS, RightsRow
from fakemq.broker.v5.auth import asks
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.proxy import auth
from fakemq.reference import NAMES, Reference, find_reference
from tests.support.pages import DOCS

_NAMES: Final = {int(code): code.name for code in (*RequestCode, *RequestCode5)}

_KEY: Final = "nothing: the key of a user is enough"

_TOP = """# What each request asks for

Each request to a broker with [access control](acl.md) needs the key of an account, or of a user,
and its signature. This page has what is needed beside that. It is made by
`tests/support/rights_page.py` from the tables that brokers use, `fakemq/broker/acl/rights.py` and,
of 5.5.0, `fakemq/broker/v5/auth/asks.py`; a test fails for a code or an RPC without a row.

- Of 4.9.7 a row says what 4.9.7 asks. "4.9.7 asks for none" is a hole of that release: an account
  without a right passes there, and here. LITE_PULL_MESSAGE, which 4.9.7 does not have, asks for
  what PULL_MESSAGE does.
- Of 5.5.0 a row says what [auth 2.0](auth.md) asks. "the key of a user" is a hole, too: a user
  without a right passes there, and here. Where a field names a topic or a group and is not there,
  5.5.0 mostly asks for nothing.
- Of 5.3.2 a row asks for the same, in the words of `plain_acl.yml`. Where that asks for nothing,
  fakemq asks for what the request reads or changes.
- A dash: the release has no such code.

## Brokers

"""
_NAMESRV_TOP = """
## Name servers

"""
_GRPC_TOP = """
## RPCs

Before brokers of 5.3.2 the client id of each call must be the caller's own, too: an id belongs to
the account that first said with it what the client is, until that client ends, is forgotten, or the
account is deleted.

"""


def rights_page() -> str:
    """Return the text of docs/rights.md."""
    rpcs = ((name, rule.asks, _of_caller(name, rule.asks)) for name, rule in RPCS.items())
    return "".join(
        (
            *(_TOP, _codes(BROKER, _of_user), _NAMESRV_TOP, _codes(NAMESRV, None), _GRPC_TOP),
            _table(("RPC", "5.3.2", "5.5.0"), rpcs),
        )
    )


def _of_caller(name: str, asks_5_3: str) -> str:
    """Return what a front whose brokers have users asks for."""
    if "UNIMPLEMENTED" in asks_5_3:  # the dispatcher answers before any check
        return asks_5_3
    return auth.RPCS[name].says if name in auth.RPCS else _KEY


def _of_user(code: int) -> str:
    """Return what a broker with users asks for."""
    return asks.BROKER[code].says if code in asks.BROKER else _KEY


def _codes(rows: Mapping[int, RightsRow], of_user: Callable[[int], str] | None) -> str:
    return _table(
        ("code", "name", *NAMES),
        (
            (
                code,
                _NAMES[code],
                *(_cell(code, row, find_reference(name), of_user) for name in NAMES),
            )
            for code, row in sorted((int(code), row) for code, row in rows.items())
        ),
    )


def _cell(
    code: int, row: RightsRow, reference: Reference, of_user: Callable[[int], str] | None
) -> str:
    rule = row.in_v5 if reference.folder else row.in_4_9_7
    if rule is None or code in reference.gone_codes:
        return "–"
    return rule.asks if reference.reads_acl_enable or of_user is None else of_user(code)


def _table(names: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    lines = (names, ("---",) * len(names), *rows)
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


if __name__ == "__main__":
    (DOCS / "rights.md").write_text(rights_page(), encoding="utf-8")
