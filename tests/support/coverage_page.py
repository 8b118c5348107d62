"""docs/coverage.md, made from the tables of codes and RPCs.

Write it again with ``python -m tests.support.coverage_page``.
"""

from __future__ import annotations

from collections.abc import Iterable

from fakemq.broker.broker import broker_class
from fakemq.controller.controller import Controller
from fakemq.namesrv.namesrv import name_server_class
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.grpc.table import RPCS
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.proxy.registry import find
from fakemq.reference import NAMES, Reference, find_reference
from tests.support.imports import ROOT

ASKED_OF_CLIENTS = {
    *(RequestCode.CHECK_TRANSACTION_STATE, RequestCode.NOTIFY_CONSUMER_IDS_CHANGED),
    *(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT),
    *(RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, RequestCode5.NOTIFY_UNSUBSCRIBE_LITE),
}
"""Codes that brokers send to clients."""

_REFUSED_RPCS = {"SyncLiteSubscription": "refused with 50100: lite topics are out of scope"}

_TOP = """# Coverage

What of RocketMQ's protocols fakemq has, for all references; [config keys](config.md) has the same
of config. This page is made by `tests/support/coverage_page.py` from the tables that the nodes use;
what a request does is compared with real servers ([scenarios](scenarios.md), [known
differences](differences.md)).

## Request codes

A cell names the nodes that answer the code. "asks clients": brokers send it to clients. A dash: the
release has no such code, or no node of RocketMQ answers it. "Out of scope": nodes of RocketMQ
answer it, and fakemq refuses it in one line that names the feature. The code 361 is of 5.x; a
broker of 4.9.7 answers it here as well, so that 5.x clients work.

"""
_GRPC_TOP = """
## RPCs of MessagingService

The service `apache.rocketmq.v2.MessagingService` at the [gRPC port](grpc.md). The proxy of 5.5.0
does not implement the RPCs that pull; the front says the same.

"""


def coverage_page() -> str:
    """Return the text of docs/coverage.md."""
    return "".join((_TOP, _codes(), _GRPC_TOP, _rpcs()))


def _codes() -> str:
    cells = {name: _answered_by(find_reference(name)) for name in NAMES}
    rows = (
        (code.value, code.name, *(cells[name].get(code, "–") for name in NAMES))
        for code in (*RequestCode, *RequestCode5)
    )
    return _table(("code", "name", *NAMES), rows)


def _answered_by(reference: Reference) -> dict[int, str]:
    """Return the cell of each code that a release has; those that no node answers are left out."""
    nodes: dict[int, list[str]] = {}
    known_by = {
        "name server": name_server_class(reference).handlers,
        "broker": broker_class(reference).handlers,
    }
    for node, handlers in known_by.items():
        for code in set(handlers.load()) - reference.gone_codes:
            nodes.setdefault(code, []).append(node)
    cells = {code: ", ".join(names) for code, names in nodes.items()}
    cells |= {code: f"out of scope: {why}" for code, why in reference.out_of_scope.items()}
    if reference.name == NAMES[-1]:
        of_controllers = dict.fromkeys(Controller.handlers.load(), "controller")
        of_controllers[RequestCode5.BROKER_HEARTBEAT] = "name server, controller"
        cells |= of_controllers
    known = RequestCode if reference.name == NAMES[0] else (*RequestCode, *RequestCode5)
    return cells | dict.fromkeys(ASKED_OF_CLIENTS & {*known}, "asks clients")


def _rpcs() -> str:
    return _table(("RPC", "here"), ((rpc.name, _rpc(rpc.name)) for rpc in RPCS))


def _rpc(name: str) -> str:
    if find(name) is None:
        return "UNIMPLEMENTED, as at the proxy"
    return _REFUSED_RPCS.get(name, "answered")


def _table(names: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    lines = (names, ("---",) * len(names), *rows)
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


if __name__ == "__main__":
    (ROOT / "docs/coverage.md").write_text(coverage_page(), encoding="utf-8")
