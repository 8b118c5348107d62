"""docs/coverage.md, made from the tables of codes and RPCs.

Write it again with ``python -m tests.support.coverage_page``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

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

_OTHERS_CODES = {
    "4.9.7": {*RequestCode5, RequestCode.LITE_PULL_MESSAGE},
    "5.3.2": {
        *(RequestCode5.POP_LITE_MESSAGE, RequestCode5.LITE_SUBSCRIPTION_CTL),
        *(RequestCode5.ACK_LITE_MESSAGE, RequestCode5.NOTIFY_UNSUBSCRIBE_LITE),
        *(RequestCode5.GET_BROKER_LITE_INFO, RequestCode5.GET_PARENT_TOPIC_INFO),
        *(RequestCode5.GET_LITE_TOPIC_INFO, RequestCode5.GET_LITE_CLIENT_INFO),
        *(RequestCode5.GET_LITE_GROUP_INFO, RequestCode5.TRIGGER_LITE_DISPATCH),
        RequestCode5.SWITCH_TIMER_ENGINE,
    },
    "5.5.0": {
        *(RequestCode.UPDATE_AND_CREATE_ACL_CONFIG, RequestCode.DELETE_ACL_CONFIG),
        *(RequestCode.GET_BROKER_CLUSTER_ACL_INFO, RequestCode.GET_BROKER_CLUSTER_ACL_CONFIG),
        RequestCode.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG,
    },
}
"""Codes that a release does not have, of those that another has.

Source: common/protocol/RequestCode.java (4.9.7), remoting/protocol/RequestCode.java (5.3.2, 5.5.0)
"""

_NO_CODE = "–"
_NO_NODE = "no node"
_ASKS = "asks clients"
_OUT = "out of scope"


_TOP = """# Coverage

What of RocketMQ's protocols fakemq has, for all references; [config keys](config.md) has the same
of config. This page is made by `tests/support/coverage_page.py` from the tables that the nodes use;
what a request does is compared with real servers ([scenarios](scenarios.md), [known
differences](differences.md)).

## Request codes

A cell names the nodes that answer the code. "asks clients": brokers send it to clients. "no node":
the release has the code, and no node of it answers it; so it is here. A dash: the release has no
such code. "out of scope": nodes of RocketMQ answer it, and fakemq refuses it in one line that names
the feature. The code 361 is of 5.x; a broker of 4.9.7 answers it here as well, so that 5.x clients
work. The codes 1014 to 1018 of 5.x are entries of JRaft's log, and no requests.

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
    codes = (*RequestCode, *RequestCode5)
    cells = {name: _cells(find_reference(name)) for name in NAMES}
    rows = ((code.value, code.name, *(cells[name][code] for name in NAMES)) for code in codes)
    return _how_many(cells) + "\n" + _table(("code", "name", *NAMES), rows)


def _how_many(cells: Mapping[str, Mapping[int, str]]) -> str:
    kinds = ("answered", _ASKS, _NO_NODE, _OUT)
    rows = []
    for name, of_release in cells.items():
        texts = (text.partition(":")[0] for text in of_release.values() if text != _NO_CODE)
        counts = Counter(text if text in kinds else "answered" for text in texts)
        rows.append((name, counts.total(), *(counts[kind] for kind in kinds)))
    return _table(("reference", "codes", *kinds), rows)


def _cells(reference: Reference) -> dict[int, str]:
    """Return the cells of a release, by code."""
    answered, others = _answered_by(reference), _OTHERS_CODES[reference.name]
    return {
        code: answered.get(code, _NO_CODE if code in others else _NO_NODE)
        for code in (*RequestCode, *RequestCode5)
    }


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
    cells |= {code: f"{_OUT}: {why}" for code, why in reference.out_of_scope.items()}
    if reference.name == NAMES[-1]:
        of_controllers = dict.fromkeys(Controller.handlers.load(), "controller")
        of_controllers[RequestCode5.BROKER_HEARTBEAT] = "name server, controller"
        cells |= of_controllers
    return cells | dict.fromkeys(ASKED_OF_CLIENTS - _OTHERS_CODES[reference.name], _ASKS)


def _rpcs() -> str:
    return _table(("RPC", "here"), ((rpc.name, _rpc(rpc.name)) for rpc in RPCS))


def _rpc(name: str) -> str:
    if find(name) is None:
        return "UNIMPLEMENTED, as at the proxy"
    return "answered"


def _table(names: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    lines = (names, ("---",) * len(names), *rows)
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


if __name__ == "__main__":
    (ROOT / "docs/coverage.md").write_text(coverage_page(), encoding="utf-8")
