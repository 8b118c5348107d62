"""Every folder of the house has a layer, and imports only what lies in lower layers.

Imports inside functions and under ``if TYPE_CHECKING`` obey the same rule. A module may import its
own folder; two folders of one layer do not import each other. What a lower layer needs of a higher
one is handed to it as a value, a callable, or an object that fits a `Protocol`.
"""

from __future__ import annotations

import re

import pytest

from tests.support.imports import (
    RANK,
    circles,
    folder,
    folder_circles,
    foreign_imports,
    imports,
    is_asynchronous,
    modules,
)
from tests.support.sources import READ_BY_ONE_WORKER

pytestmark = READ_BY_ONE_WORKER

EDGES = (
    *(
        "client.async_base",
        "client.asynchronous",
        "client.carriers",
        "client.faces",
        "client.this_machine",
        "cluster",
        "commands.live_summary",
        "control",
        "forked_sockets",
        "handles",
        "net.tcp",
        "net.tls",
        "serving",
        "spark.audit.command",
    ),
)
"""Folders and modules that know an event loop, sockets or threads; all others are synchronous."""

LOOP = {"anyio", "asyncio", "select", "selectors", "socket", "threading", "trio"}
MAY_IMPORT = {
    "awaited": {"asyncio"},
    "config.layout": {"socket"},
    "protocol.bodies.body": {"os", "threading"},
    "protocol.native": {"os"},
}
"""Module → what it needs although it is no edge: `awaited` marks functions as asyncio of Python
3.11 does, `config.layout` finds this machine's address, `protocol.native` reads FAKEMQ_PURE, and
a lock of `protocol.bodies.body` keeps msgspec from preparing one type in two threads at once, and
from a fork meanwhile."""


def test_every_folder_has_a_layer() -> None:
    assert {folder(module) for module in modules()} == RANK.keys()


def test_imports_point_down() -> None:
    upward = [
        f"{one.source} -> {one.target} ({one.kind})"
        for one in imports()
        if folder(one.source) != folder(one.target)
        and RANK[folder(one.target)] >= RANK[folder(one.source)]
    ]
    assert upward == []


def test_sub_folders_of_a_folder_are_in_no_circle() -> None:
    """Of two sub-folders one is the lower one, as folders are; what lies loose joins them."""
    assert folder_circles() == [["client.carriers", "client.consuming", "client.handlers"]]


def test_folder_imports_its_own_v5_only_when_it_needs_it() -> None:
    """A cluster of 4.9.7 does not depend on what only RocketMQ 5 has, or does otherwise."""
    early = [
        f"{one.source} -> {one.target}"
        for one in imports()
        if folder(one.source) == folder(one.target)
        and one.kind == "top"
        and is_of_five(one.target)
        and not is_of_five(one.source)
    ]
    assert early == []


def is_of_five(module: str) -> bool:
    """``ha/autoswitch/`` is the replication under a controller, which only 5.5.0 has."""
    parts = module.split(".")
    return parts[:2] == ["ha", "autoswitch"] or any(
        re.fullmatch(r"v5(_\d+)?", part) for part in parts
    )


def test_no_file_has_a_release_in_its_name() -> None:
    """What belongs to a release is in a folder of it, such as ``v5``."""
    named = {module for module in modules() if re.search(r"_\d+_\d+|later", module)}
    assert named == {"later"}  # that is a value that comes later


def test_commands_ask_running_clusters_by_the_client_alone() -> None:
    asking = {one.source for one in imports() if one.target == "commands.running_cluster"}
    asking.add("commands.running_cluster")
    nodes = {"net", "store", "dispatch", "ha", "namesrv", "broker", "proxy", "core", "handles"}
    assert not [one for one in imports() if one.source in asking and folder(one.target) in nodes]


@pytest.mark.parametrize(
    "kinds",
    [{"top", "function"}, {"top", "function", "typing"}],
    ids=["imports that run", "all imports"],
)
def test_no_module_is_in_a_circle(kinds: set[str]) -> None:
    assert circles(kinds) == []


def is_edge(module: str) -> bool:
    return any(f"{module}.".startswith(f"{edge}.") for edge in EDGES)


CLIENT_KNOWS = {
    *("client", "clock.durations", "clock.machine_time", "clock.timers", "config.checked"),
    *("awaited", "errors", "forked_sockets", "protocol", "randomness", "tls"),
}
"""What the client imports: nothing of a server, so that it could be a package of its own."""


def test_client_knows_nothing_of_the_server() -> None:
    foreign = {
        one.target
        for one in imports()
        if folder(one.source) == "client"
        and not any(f"{one.target}.".startswith(f"{known}.") for known in CLIENT_KNOWS)
    }
    assert not foreign


def test_only_edges_import_a_loop_sockets_or_threads() -> None:
    bad = {
        module: sorted(found)
        for module in modules()
        if not is_edge(module)
        and (found := foreign_imports(module) & LOOP - MAY_IMPORT.get(module, set()))
    }
    assert not bad


def test_only_edges_are_asynchronous() -> None:
    bad = [module for module in modules() if not is_edge(module) and is_asynchronous(module)]
    assert not bad


def test_protocol_does_not_import_the_operating_system() -> None:
    bad = [
        module
        for module in modules()
        if folder(module) == "protocol"
        and "os" in foreign_imports(module) - MAY_IMPORT.get(module, set())
    ]
    assert not bad
