"""The records of POP at a broker that may act for its master: a slave's go to another broker.

There they come into one queue of the revive topic, so that an acknowledgement finds its checkpoint.
It does not find one that the master has stored before it went away: what that names comes again.

Source: broker/processor/PopBufferMergeService.java#addCkJustOffset, #putCkToStore,
AckMessageProcessor.java#appendAck (5.5.0)
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fakemq.broker.v5.pop.revive_log import STORED, ReviveLog
from fakemq.later import Later
from fakemq.store.puts import put_ended
from fakemq.store.results import PutMessageStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.broker.sending.puts import Put
    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.node import NodeContext
    from fakemq.protocol.bodies.pop import PopCheckPoint
    from fakemq.store.inner_message import InnerMessage
    from fakemq.store.puts import PutMessageResult
    from fakemq.store.store import StoreRole


class EscapingReviveLog(ReviveLog):
    """Writes the records of one broker; those of a slave are under way for a while.

    What answers a client does not wait for them, unless its answer depends on it.
    """

    def __init__(self, node: NodeContext[BrokerConfig], role: StoreRole, *, put: Put) -> None:
        super().__init__(node, role, put=self._begin)
        self._escape = put
        self._under_way: Later[PutMessageResult] | None = None
        """What the last put waits for."""

    def _begin(self, message: InnerMessage) -> PutMessageResult:
        put = self._escape(message)
        if not isinstance(put, Later):
            return put
        self._under_way = put
        return put_ended(PutMessageStatus.PUT_OK)

    def _taken(self) -> Later[PutMessageResult] | None:
        """Return what the last put waits for; None if it is over."""
        put, self._under_way = self._under_way, None
        return put

    def keep_checkpoint(
        self, ck: PopCheckPoint, revive_queue_id: int, stored: Callable[[], None]
    ) -> bool:
        if not self._role.is_slave:
            return super().keep_checkpoint(ck, revive_queue_id, stored)
        taken = self._put_checkpoint(ck, revive_queue_id)
        put = self._taken()
        if put is not None:
            put.when_done(partial(self._kept, self._life, ck, revive_queue_id, stored, put))
        elif not taken:
            self._keep_refused(ck, revive_queue_id, stored)
        return taken and put is None  # no revive queue has that number

    def _kept(
        self,
        life: int,
        ck: PopCheckPoint,
        revive_queue_id: int,
        stored: Callable[[], None],
        put: Later[PutMessageResult],
    ) -> None:
        if life != self._life:
            return  # stopped meanwhile
        if put.result().status in STORED:
            stored()
        else:
            self._keep_refused(ck, revive_queue_id, stored)

    def _put_refused(self) -> bool:
        """Put what was refused; a slave waits for no order, as each goes its own way."""
        if not self._role.is_slave:
            return super()._put_refused()
        refused, self._refused = self._refused, type(self._refused)()
        for ck, revive_queue_id, stored in refused:
            self.keep_checkpoint(ck, revive_queue_id, stored)
        return True

    def put_checkpoint(self, ck: PopCheckPoint, revive_queue_id: int) -> bool | Later[bool]:
        """Store a checkpoint; a slave knows it once the other broker has answered."""
        stored = super().put_checkpoint(ck, revive_queue_id)
        put, later = self._taken(), Later[bool]()
        if put is None:
            return stored
        put.when_done(lambda: later.resolve(put.result().status in STORED))
        return later
