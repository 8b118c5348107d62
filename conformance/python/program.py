"""The scenarios of the program, by the names that the Java program has for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from conformance.python import (
    bodies,
    delays,
    filters,
    groups,
    lites,
    options,
    pulls,
    pushes,
    queries,
    replies,
    retries,
    sends,
    traces,
    transactions,
)
from conformance.python.lab import Lab

SCENARIOS: Mapping[str, Callable[[Lab], None]] = {
    # Those that wait longest come first.
    "orderlydying": pushes.orderly_dying,
    "reset": groups.reset,
    "transaction": transactions.transaction,
    "trace": traces.trace,
    "timestamp": groups.timestamp,
    "sync": sends.sync,
    "errors": sends.errors,
    "async": sends.asynchronous,
    "oneway": sends.oneway,
    "batch": sends.batch,
    "autotopic": sends.auto_topic,
    "selected": bodies.selected,
    "compressed": bodies.compressed,
    "properties": bodies.properties,
    "collisions": bodies.collisions,
    "options": options.options,
    "delay": delays.delay,
    "takeover": transactions.takeover,
    "request": replies.request,
    "push": pushes.push,
    "orderly": pushes.orderly,
    "rebalance": pushes.rebalance,
    "dying": pushes.dying,
    "broadcast": pushes.broadcast,
    "suspended": groups.suspended,
    "growing": groups.growing,
    "deleted": groups.deleted,
    "inspected": groups.inspected,
    "sql": filters.sql,
    "sqlpush": filters.sql_push,
    "resubscribe": filters.resubscribe,
    "retry": retries.retry,
    "retrylevels": retries.retry_levels,
    "retryrest": retries.retry_rest,
    "sendback": pulls.send_back,
    "orderlyretry": retries.orderly_retry,
    "pull": pulls.pull,
    "offsets": pulls.offsets,
    "block": pulls.block,
    "query": queries.query,
    "litesubscribe": lites.lite_subscribe,
    "liteassign": lites.lite_assign,
    "nosql": filters.no_sql,
}
"""All of the Java program's but ``steered``, which shows a fake's control port and no client."""
