"""The routes of topics, as a broker asks its name servers for them.

Source: broker/topic/TopicRouteInfoManager.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.later import Later
from fakemq.protocol.bodies.route import TopicRouteData
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.errors import ProtocolError
from fakemq.protocol.headers.namesrv import GetRouteInfoRequestHeader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fakemq.net.outbound import Outbound

ROUTE_TIMEOUT_MS: Final = 3_000
MOST_ASKED: Final = 100
"""How many topics the broker asks for at a time, where peers name them."""
MOST_WAITING: Final = 10_000
"""How many requests of peers wait for a route at a time."""


class TopicRouteInfoManager:
    """Asks a name server for a route each time; the known one counts only if none answers."""

    def __init__(
        self, namesrv_addrs: Callable[[], Sequence[str]], outbound: Callable[[], Outbound]
    ) -> None:
        self._namesrv_addrs = namesrv_addrs
        self._outbound = outbound
        self._known: dict[str, TopicRouteData] = {}
        """Topic → its route, as a name server knew it last."""
        self._asked: dict[str, list[Later[TopicRouteData | None]]] = {}
        """Topic that `find` asks for → the callers that wait for its route."""
        self._waiting = 0

    def forget(self) -> None:
        """Know no route."""
        self._known.clear()

    def find(self, topic: str) -> Later[TopicRouteData | None] | None:
        """Return the known route of a topic, else ask for it; None if too many wait for routes.

        A known route is asked for again meanwhile; Java does so every 30 s.
        Source: TopicRouteInfoManager.java#tryToFindTopicPublishInfo, #start (5.5.0)
        """
        known, found = self._known.get(topic), Later[TopicRouteData | None]()
        if topic not in self._asked and len(self._asked) < MOST_ASKED:
            self._asked[topic] = []
            asked = self.ask(topic)
            asked.when_done(lambda: self._answered(topic, asked.result()))
        if known is not None and known.queue_datas:
            found.resolve(known)
        elif topic in self._asked:
            if self._waiting >= MOST_WAITING:
                return None
            self._waiting += 1
            self._asked[topic].append(found)
        elif len(self._asked) >= MOST_ASKED:
            return None
        else:  # it was answered at once
            found.resolve(self._known.get(topic))
        return found

    def _answered(self, topic: str, route: TopicRouteData | None) -> None:
        waiting = self._asked.pop(topic)
        self._waiting -= len(waiting)
        for one in waiting:
            one.resolve(route)

    def ask(self, topic: str) -> Later[TopicRouteData | None]:
        """Return the route of a topic, once a name server has answered; None if it has none.

        Source: TopicRouteInfoManager.java#updateTopicRouteInfoFromNameServer (5.5.0)
        """
        route: Later[TopicRouteData | None] = Later()
        known, addrs = self._known, self._namesrv_addrs()
        if not addrs:
            route.resolve(known.get(topic))
            return route

        def answered(response: RemotingCommand | None) -> None:
            if response is not None and response.code == ResponseCode.SUCCESS:
                try:
                    known[topic] = TopicRouteData.decode(response.body)
                except ProtocolError:
                    known[topic] = TopicRouteData()
            elif response is not None and response.code == ResponseCode.TOPIC_NOT_EXIST:
                known.pop(topic, None)
            route.resolve(known.get(topic))

        command = RemotingCommand(
            RequestCode.GET_ROUTEINFO_BY_TOPIC,
            ext_fields=GetRouteInfoRequestHeader(topic=topic).encode(),
        )
        self._outbound().invoke(addrs[0], command, ROUTE_TIMEOUT_MS, answered)
        return route
