"""Runs with controllers: what is drawn, what holds, and what the strong invariants find."""

from __future__ import annotations

from functools import partial

import pytest
from click.testing import CliRunner

from fakemq.cli import main
from fakemq.sim.drawing import draw_plan
from fakemq.sim.replay import drawn
from tests.support.plans import Plans

PLANS = Plans(200, partial(draw_plan, reference="5.5.0", controllers=0))


def test_clusters_of_every_kind_are_drawn() -> None:
    clusters = [plan.cluster for plan in PLANS]
    assert {cluster.slaves for cluster in clusters} == {1, 2}
    assert {cluster.masters for cluster in clusters} == {1, 2}
    replicas = [cluster.replicas for cluster in clusters if cluster.replicas is not None]
    assert len(replicas) == len(clusters)
    assert {(one.controllers, one.controller_type) for one in replicas} == {
        *((1, "DLedger"), (1, "jRaft"), (3, "DLedger"), (3, "jRaft"))
    }
    assert {one.all_ack_in_sync_state_set for one in replicas} == {False, True}
    assert {(one.min_in_sync_replicas, one.in_sync_replicas) for one in replicas} == {
        *((1, 1), (1, 2), (2, 1), (2, 2))
    }


def test_number_of_controllers_can_be_chosen() -> None:
    for plan in (draw_plan(seed, reference="5.5.0", controllers=3) for seed in range(20)):
        assert plan.cluster.replicas is not None
        assert plan.cluster.replicas.controllers == 3


def test_replicas_have_names_for_life() -> None:
    plan = next(plan for plan in PLANS if plan.cluster.slaves == 2)
    assert plan.cluster.nodes[:3] == ("broker-a@1", "broker-a@2", "broker-a@3")
    assert plan.cluster.leading == plan.cluster.nodes


def test_plan_names_the_settings_of_its_replicas() -> None:
    lines = [line for plan in PLANS for line in drawn(plan)]
    assert (
        "controllers: 3, controllerType=jRaft, allAckInSyncStateSet=true, minInSyncReplicas=2,"
        " inSyncReplicas=1, brokerHeartbeatInterval=1000" in lines
    )


def test_only_a_reference_with_controllers_has_them() -> None:
    with pytest.raises(ValueError, match=r"controllers are drawn for 5\.5\.0 without a gRPC front"):
        draw_plan(1, controllers=1)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--strong"], "--strong needs --controllers"),
        (["--controllers", "--grpc"], "give --grpc, or --controllers"),
        (
            ["--controllers", "1", "--reference", "4.9.7"],
            "--controllers needs --reference 5.5.0: 4.9.7 has no controllers",
        ),
    ],
)
def test_options_that_do_not_fit_are_one_line(arguments: list[str], text: str) -> None:
    done = CliRunner().invoke(main, ["replay", "--seed", "1", *arguments])
    assert done.exit_code == 2
    assert text in done.output


@pytest.mark.slow  # a whole run
def test_command_runs_groups_of_replicas() -> None:
    done = CliRunner().invoke(main, ["replay", "--seed", "1", "--minutes", "10", "--controllers"])
    assert done.exit_code == 0, done.output[-2_000:]
    lines = done.output.splitlines()
    assert lines[2].startswith("controllers: ")
    for kind in ("MasterElected", "SyncStateSetChanged", "RoleChanged", "LogTruncated", "Probed"):
        assert any(f" {kind} " in line for line in lines)
