"""What a fault that never acted could have acted on, had its limits been a little different."""

from __future__ import annotations

from collections import Counter
from typing import Any

from fakemq.errors import counted, did_you_mean, printable
from fakemq.faults.plan import ActiveFault
from fakemq.handles.faults.scopes import FAMILIES
from fakemq.protocol.codes import code_name

_SHOWN_AT_MOST = 3


def similar_requests(placed: ActiveFault[Any]) -> str:
    """Return which similar requests came, as the end of a sentence; "" for no fault of requests.

    Example: ``similar requests came: SEND_MESSAGE_V2 3 times ("send" covers all sends)``.
    """
    if placed.scope.code is None and placed.scope.rpc is None:
        return ""
    found: Counter[str] = Counter()
    family = ""
    for (field, value), times in placed.near_misses.items():
        if field == "rpc":
            continue  # RPCs have no kin: a client that sends also asks for routes
        if field != "code":
            found[f"with {field}={_one(value)}"] += times
        elif isinstance(value, int) and (common := _kinship(placed, value)) is not None:
            found[code_name(value)] += times
            family = family or common
    if not found:
        return "no similar request came"
    shown = ", ".join(
        f"{what} {counted(times, 'time')}" for what, times in found.most_common(_SHOWN_AT_MOST)
    )
    hint = f' ("{family}" covers them all)' if family else ""
    return printable(f"similar requests came: {shown}{hint}")


def _kinship(placed: ActiveFault[Any], code: int) -> str | None:
    """Return the family that a code shares with the fault's, "" if only the names are similar.

    None if they have nothing in common.
    """
    codes = placed.scope.code
    wanted = codes if isinstance(codes, frozenset) else {codes}
    for name, members in FAMILIES.items():
        if code in members and wanted.intersection(members):
            return name
    names = sorted(code_name(one) for one in wanted if one is not None)
    return "" if did_you_mean(code_name(code), names, cutoff=0.75, lists=False) else None


def _one(value: object) -> str:
    """Return a value of a case; of several the first ones."""
    if isinstance(value, frozenset):
        several = sorted(map(str, value))
        more = ", …" if len(several) > _SHOWN_AT_MOST else ""
        return " or ".join(several[:_SHOWN_AT_MOST]) + more or "none"
    return "none" if value is None else str(value)
