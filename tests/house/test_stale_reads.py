"""Long work looks things up again after each step, or a row here says why it need not."""

from __future__ import annotations

from pathlib import Path

from tests.support.loops import on_loop
from tests.support.sources import READ_BY_ONE_WORKER
from tests.support.stale_reads import stale_reads

pytestmark = READ_BY_ONE_WORKER

ANSWER = "Only an answer is made of it, which may be as it was at any moment since the request."
COPY = "It is a copy of its own."
OF_CLUSTER = (
    "No peer adds or removes it: a broker of the cluster, or a table that is never replaced."
)

ROWS: dict[str, dict[str, str]] = {
    "biographies/dead_letters.py": {"not_sent_back: deliveries": ANSWER},
    "biographies/diagnosis.py": {
        "_Search.certain: entry": ANSWER,
        "_Search.faults: found": ANSWER,
        "_Search.uncertain: deliveries": ANSWER,
    },
    "biographies/groups.py": {
        "older_than_group: joined": ANSWER,
        "older_than_group: entry": ANSWER,
    },
    "biographies/incidents.py": {
        "deleted_unconsumed: entry": ANSWER,
        "offsets_reset: requests": ANSWER,
    },
    "biographies/members.py": {
        "rival_members: entry": ANSWER,
        "_members_left: deliveries": ANSWER,
    },
    "biographies/no_route.py": {
        "asked_too_early: refused": ANSWER,
        "asked_for_mistyped: refused": ANSWER,
        "asked_while_down: refused": ANSWER,
    },
    "biographies/order.py": {
        "order_lost: deliveries": ANSWER,
        "split_keys: entry": ANSWER,
        "split_keys: key": COPY,
    },
    "biographies/same_id.py": {"stored_again: entry": ANSWER},
    "biographies/waiting.py": {"add_timers: news": ANSWER},
    "broker/acl/permission_manager.py": {
        "PlainPermissionManager.validate_in_steps: account": (
            "It is a value: a request is judged by the rules of one moment."
        ),
    },
    "broker/clients/consumers.py": {"ConsumerManager.groups_of_topic: info": ANSWER},
    "broker/handlers/invoke_broker_to_reset_offset.py": {
        "_offsets: config": ANSWER,
    },
    "broker/handlers/unregister_client.py": {
        "unregister_client: config": "It is an argument of what yields, and read before."
    },
    "broker/v5/handlers/get_consume_stats.py": {"get_consume_stats: config": ANSWER},
    "broker/v5/lite/expiry.py": {
        "LiteExpiry.parent_deleted: groups": "A group that is bound later has consumed nothing."
    },
    "broker/v5/lite/tools.py": {"broker_info: config": ANSWER, "parent_info: config": ANSWER},
    "broker/pulling/held_queue.py": {
        "HeldQueue._wanting: pulls": "An empty one is skipped; each pull is asked whether it waits."
    },
    "broker/tables/offsets.py": {
        "ConsumerOffsetManager.query_min_offset_in_all_groups: offset": ANSWER,
    },
    "control/overview.py": {"_clients: broker": OF_CLUSTER, "_clients: members": ANSWER},
    "core/snapshots.py": {"NodeCapture.image: text": COPY},
    "namesrv/kv.py": {"KvConfig.kv_table_in_steps: table": ANSWER},
    "namesrv/route_query.py": {
        "RouteQuery.topic_route_steps: addr": ANSWER,
        "RouteQuery.system_topics: broker_names": COPY,
    },
    "proxy/receipts.py": {
        "Renewals._look_at_each: of_client": "`_is_here` says of each message whether it is there."
    },
    "proxy/clients.py": {"Clients._expire_each: silent": OF_CLUSTER},
    "store/index.py": {"IndexService.query: last": ANSWER},
}
"""What is used after a step as it was before it, and why that is right."""


def test_long_work_uses_nothing_of_a_table_after_a_step() -> None:
    found = {file: set(stale_reads(path)) for file, path in on_loop()}
    unknown = [
        f"{file}: {one}" for file, names in found.items() for one in names - {*ROWS.get(file, ())}
    ]
    assert not unknown, (
        "others may change the table between two steps: a removed entry is written back, or a new"
        " one removed. Walk a copy of the keys, and look each up after the step; or add a row here"
        " that says why the old value is right"
    )
    gone = [
        f"{file}: {one}"
        for file, names in ROWS.items()
        for one in {*names} - found.get(file, set())
    ]
    assert not gone, "these reads have gone: delete their rows"


SOURCE = """
class Table:
    def values(self) -> Steps[None]:
        for row in list(self._rows.values()):
            row.clear()
            yield

    def items(self) -> Steps[None]:
        for number, (key, row) in enumerate(list(self._rows.items())):
            yield
            print(key)

    def before(self, key) -> Steps[None]:
        row = self._rows.get(key)
        yield
        row.clear()

    def around(self, keys) -> Steps[None]:
        row, rows = keys, self._rows["all"]
        for key in keys:
            rows.pop(key)
            yield

    def again(self) -> Steps[None]:
        for key in list(self._rows):
            row = self._rows.get(key)
            if row is not None:
                row.clear()
            yield

    def at_once(self, key) -> None:
        row = self._rows.get(key)
        row.clear()

    def argument(self, rows) -> Steps[None]:
        row = rows.get("all")
        yield
        row.clear()

    def _existing(self, key):
        row = self._rows.get(key)
        if row is None:
            raise KeyError
        return row

    def helped(self, key) -> Steps[None]:
        row = self._existing(key)
        other = _first(self)
        yield
        row.clear()
        other.clear()

    def other_type(self, key) -> Work:
        row = self._rows.get(key)
        yield
        row.clear()

    def values_of(self, key) -> Iterator[int]:
        row = self._rows.get(key)
        yield 1
        row.clear()


def _first(table):
    return table.rows[0]
"""


def test_finder_knows_old_values_from_those_looked_up_again(tmp_path: Path) -> None:
    path = tmp_path / "table.py"
    path.write_text(SOURCE)
    assert list(stale_reads(path)) == [
        "Table.values: row",
        "Table.items: row",
        "Table.before: row",
        "Table.around: rows",
        "Table.helped: row",
        "Table.helped: other",
        "Table.other_type: row",
    ]
