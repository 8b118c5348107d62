"""A name server of RocketMQ 5: what it does otherwise than one of 4.9.7.

Source: namesrv/NamesrvController.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from fakemq.dispatch.answers import Refused
from fakemq.dispatch.dispatcher import Dispatcher, VersionedDispatcher
from fakemq.dispatch.registry import Handlers
from fakemq.namesrv.namesrv import NameServer
from fakemq.protocol.codes import ResponseCode

if TYPE_CHECKING:
    from fakemq.config.v5.model import NamesrvConfig5


class NameServer5(NameServer):
    """A name server of 5.5.0; its config may forbid what 4.9.7 answers always."""

    config: NamesrvConfig5
    handlers: ClassVar[Handlers[Any]] = Handlers(
        "fakemq.namesrv.v5.handlers", earlier=NameServer.handlers
    )
    dispatcher_class: ClassVar[type[Dispatcher[Any]]] = VersionedDispatcher

    def check_ready(self) -> None:
        """Raise Refused, with needWaitForService, up to waitSecondsForService after the start.

        Source: namesrv/processor/ClientRequestProcessor.java#getRouteInfoByTopic (5.5.0)
        """
        config, up_ms = self.config, self.clock.now_ms() - self.started_ms
        if config.need_wait_for_service and up_ms < config.wait_seconds_for_service * 1000:
            raise Refused(ResponseCode.SYSTEM_ERROR, "name server not ready")

    def check_lists_topics(self, *, every: bool = False) -> None:
        """Raise Refused with enableTopicList=false, for ``every`` topic enableAllTopicList=false.

        Source: namesrv/processor/DefaultRequestProcessor.java#getAllTopicListFromNameserver,
        #getTopicsByCluster, #getUnitTopicList, #getHasUnitSubTopicList,
        #getHasUnitSubUnUnitTopicList (5.5.0)
        """
        config = self.config
        if not (config.enable_all_topic_list if every else config.enable_topic_list):
            raise Refused(ResponseCode.SYSTEM_ERROR, "disable")


handles: Final[Handlers[NameServer5]] = NameServer5.handlers
"""The decorator that registers a handler for name servers of 5.5.0."""

NAME_SERVER: Final = NameServer5
