"""SEND_OK is a promise: the message is found at the offset that the broker answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from fakemq.sim.events import Sent
from fakemq.sim.history import History, Violation, broker_name

if TYPE_CHECKING:
    from fakemq.sim.plan import ClusterPlan

NAME = "SEND_OK is kept"
SEND_OK = "SEND_OK"

IsStored: TypeAlias = Callable[[str, int, str], bool]
"""Takes a brokerName, a log offset and a message id; True if any machine has the message there."""


def promises(
    cluster: ClusterPlan, lost_from: Mapping[str, int], *, waits_for_slaves: bool = True
) -> Callable[[Sent], bool]:
    """Return a function: whether a SEND_OK still promises the message after machines were lost.

    ``lost_from`` maps the nodes that lost unflushed bytes to the first lost offset of their logs.
    There are three cases:
    1. A killed process loses nothing.
    2. SYNC_FLUSH survives the loss of every machine.
    3. SYNC_MASTER survives the loss of one machine, if it ``waits_for_slaves``. One of 5.5.0 does
       not: its inSyncReplicas is 1.
    """
    by_slaves = waits_for_slaves and cluster.role == "SYNC_MASTER"

    def promised(sent: Sent) -> bool:
        lost = sum(
            broker_name(node) == sent.broker and start <= sent.phy_offset
            for node, start in lost_from.items()
        )
        return lost == 0 or cluster.flush == "SYNC_FLUSH" or (by_slaves and lost == 1)

    return promised


def lost_messages(
    history: History, promised: Callable[[Sent], bool], is_stored: IsStored
) -> Iterator[Violation]:
    """Yield messages that were answered SEND_OK and that no broker has."""
    for sent in history.of(Sent):
        if sent.status != SEND_OK or not promised(sent):
            continue
        if not is_stored(sent.broker, sent.phy_offset, sent.msg_id):
            yield Violation(
                NAME,
                f"{sent.key} ({sent.msg_id}) was sent to {sent.broker}, offset {sent.phy_offset}"
                " of its log, and answered SEND_OK; no broker has it there",
                (sent.key, sent.msg_id),
            )
