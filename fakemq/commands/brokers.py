"""``fakemq brokers``: masters and slaves, with their rates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import click

from fakemq.commands.output import Table, shows
from fakemq.commands.running_cluster import RunningCluster


@click.command(short_help="Masters and slaves, with their rates.")
@shows
def brokers(cluster: RunningCluster) -> Iterator[Table]:
    """The masters and slaves: addresses, releases, rates, and messages of today.

    The rates are those of "mqadmin clusterList".
    """
    found = cluster.answers(
        {one: cluster.brokers_admin.runtime_info(one.addr) for one in cluster.nodes}
    )
    rows = []
    for one in cluster.nodes:
        info = found.get(one)
        row: dict[str, object] = {
            "cluster": one.cluster,
            "broker": one.name,
            "id": one.id,
            "addr": one.addr,
        }
        if info is not None:
            row |= {
                "version": info.get("brokerVersionDesc"),
                "in_tps": _first(info, "putTps"),
                "out_tps": _first(info, "getTransferedTps") or _first(info, "getTransferredTps"),
                "in_today": _today(info, "msgPutTotal"),
                "out_today": _today(info, "msgGetTotal"),
                "disk": info.get("commitLogDiskRatio"),
            }
        else:
            row["error"] = str(cluster.failures[one.addr])
        rows.append(row)
    columns = ("cluster", "broker", "id", "addr", "version", "in_tps", "out_tps", "in_today")
    errors = ("error",) if any("error" in row for row in rows) else ()
    minor = ("out_today", "in_today", "version", "disk")
    note = "" if rows else cluster.nothing("")
    yield Table("broker", (*columns, "out_today", "disk", *errors), rows, note, minor=minor)


def _first(info: Mapping[str, str], name: str) -> float:
    """Return the rate of the last ten seconds, the first of three numbers; 0 if there is none."""
    words = info.get(name, "").split()
    try:
        return float(words[0]) if words else 0.0
    except ValueError:
        return 0.0


def _today(info: Mapping[str, str], name: str) -> int:
    try:
        return int(info[f"{name}TodayNow"]) - int(info[f"{name}TodayMorning"])
    except (KeyError, ValueError):
        return 0
