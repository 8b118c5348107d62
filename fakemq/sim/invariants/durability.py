"""SEND_OK is a promise: what was promised to be kept is found again where it was said to be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from fakemq.sim.events import Sent
from fakemq.sim.history import History, Violation, broker_name

if TYPE_CHECKING:
    from fakemq.sim.plan import ClusterPlan

NAME = "SEND_OK is kept"
SEND_OK = "SEND_OK"


def promises(cluster: ClusterPlan, lost_machines: set[str]) -> Callable[[Sent], bool]:
    """Whether a SEND_OK is a promise to keep the message, although these machines were lost.

    ``lost_machines`` are nodes that lost what was not flushed. A SYNC_FLUSH outlives every loss,
    a SYNC_MASTER that of one machine, and a killed process takes nothing with it.
    """
    lost_of: dict[str, int] = {}
    for node in lost_machines:
        lost_of[broker_name(node)] = lost_of.get(broker_name(node), 0) + 1

    def promised(sent: Sent) -> bool:
        lost = lost_of.get(sent.broker, 0)
        return (
            lost == 0
            or cluster.flush == "SYNC_FLUSH"
            or (cluster.role == "SYNC_MASTER" and lost == 1)
        )

    return promised


def lost_messages(
    history: History, promised: Callable[[Sent], bool], is_stored: Callable[[Sent], bool]
) -> Iterator[Violation]:
    """Messages whose senders were told SEND_OK and that nobody has."""
    for sent in history.of(Sent):
        if sent.status == SEND_OK and promised(sent) and not is_stored(sent):
            yield Violation(
                NAME,
                f"{sent.key} ({sent.msg_id}) was sent to {sent.broker}, offset {sent.phy_offset}"
                " of its log, and answered SEND_OK; nobody has it there",
                (sent.key, sent.msg_id),
            )
