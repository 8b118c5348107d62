"""RocketMQ's own mqadmin prints at the fake what it prints at a real cluster."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial

import pytest

from conformance.live.groups import CROWDED
from conformance.mqadmin.compare import diff, differences, expected, recorded
from conformance.mqadmin.controllers import CONTROLLED
from conformance.mqadmin.parts import ALL_PARTS
from conformance.mqadmin.program import Mqadmin
from conformance.mqadmin.script import PARTS, Part, options_used
from conformance.mqadmin.session import Printed, Start, fake, real, run
from conformance.mqadmin.state import only_accounts
from conformance.targets.fake_or_java import MASTERS
from conformance.targets.java_cluster import SMALL_JVM, JavaCluster
from conformance.targets.tls import Tls

# Slow: a JVM for some 180 sub-commands, and a real cluster beside the fake.
pytestmark = [pytest.mark.slow, CROWDED]

ALONE = [part for part in ALL_PARTS if part is not CONTROLLED]
"""Parts whose clients and brokers keep a machine busy: the fake and the real cluster in turn."""


def test_script_has_every_sub_command_with_all_its_options(java: None) -> None:
    with Mqadmin() as mqadmin:
        lines = [line.split() for line in mqadmin.run(["@commands"]) if line]
    known = {name: {option[1] for option in options} - {"n"} for name, *options in lines}
    assert options_used() == known


@pytest.mark.parametrize("part", ALONE, ids=lambda part: part.name)
def test_mqadmin_prints_at_the_fake_what_was_recorded(java: None, part: Part) -> None:
    found = difference(expected(part, differences()), fake, part)
    assert not found, f"at fakemq:\n{found}"


@pytest.mark.parametrize("part", ALONE, ids=lambda part: part.name)
def test_mqadmin_prints_at_a_real_cluster_what_was_recorded(java: None, part: Part) -> None:
    found = difference(recorded(part), real, part)
    assert not found, f"record anew and read the difference:\n{found}"


def test_mqadmin_prints_of_controllers_what_was_recorded(java: None) -> None:
    # Real replicas wait for each other most of the time: the fake is asked meanwhile.
    wanted = expected(CONTROLLED, differences()), recorded(CONTROLLED)
    with ThreadPoolExecutor(2) as pool:
        at_fake, at_real = pool.map(difference, wanted, (fake, real), (CONTROLLED, CONTROLLED))
    assert not at_fake, f"at fakemq:\n{at_fake}"
    assert not at_real, f"record anew and read the difference:\n{at_real}"


@pytest.mark.parametrize("where", ["fake", "real"])
def test_mqadmin_prints_by_tls_what_was_recorded_without(java: None, where: str) -> None:
    (part,) = (one for one in PARTS if one.name == "accounts")
    with closing(Tls()) as tls, ExitStack() as stack:
        contents = partial(only_accounts, tls=True, tls_ca_file=tls.ca_file)
        by_tls = part._replace(contents=contents)
        if where == "fake":
            target = fake(part, tls="enforcing", tls_config=tls.config_file)
            wanted, addr = expected(part, differences()), stack.enter_context(target)
        else:
            jvm = (*SMALL_JVM, *tls.server_jvm("permissive"))  # it is asked plainly if it is ready
            cluster = JavaCluster(masters=MASTERS, config=part.config, jvm=jvm)
            wanted, addr = recorded(part), stack.enter_context(cluster).namesrv_addr
        found = diff(wanted, run(by_tls, addr, tls.client_jvm()), "this cluster")
    assert not found, found


def difference(wanted: Printed, start: Start, part: Part) -> str:
    """Return how a part differs at a second look, if it differs at the first.

    What the threads of brokers and of consumers did by accident, they do not do again.
    """
    found = ""
    for _ in range(2):
        with start(part) as namesrv_addr:
            found = diff(wanted, run(part, namesrv_addr), "this cluster")
        if not found:
            break
        print(found)
    return found
