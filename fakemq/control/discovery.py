"""The address server that clients without a name server address ask for one.

Clients ask ``http://DOMAIN/rocketmq/SUBGROUP``, or ``/SUBGROUP-UNIT?nofix=1`` with a unit name, and
read the first line. Source: common/MixAll.java#getWSAddr, common/namesrv/TopAddressing.java (4.9.7)
"""

from __future__ import annotations

from fakemq.control.control import Control
from fakemq.control.endpoints import Query, endpoint
from fakemq.control.results import Text


class Asked(Query):
    nofix: str | None = None
    """What clients with a unit name send; nothing depends on it."""


@endpoint("GET", "/rocketmq/{subgroup}", open=True)
def get_namesrv_addr(control: Control, subgroup: str, query: Asked) -> Text:
    """The name servers, ``host:port`` joined by ``;``: ``nsaddr``, or whatever the subgroup is.

    For clients with ``-Drocketmq.namesrv.domain=HOST:PORT`` and no name server address; they have
    no token, so none is asked for.
    """
    return Text(control.mq.namesrv_addr)
