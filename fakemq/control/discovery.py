"""The address server: it sends name servers' addresses to clients that have none.

A client requests ``http://DOMAIN/rocketmq/SUBGROUP``, or with a unit name
``http://DOMAIN/rocketmq/SUBGROUP-UNIT?nofix=1``, and reads the first line of the answer.

Source: common/MixAll.java#getWSAddr, common/namesrv/TopAddressing.java (4.9.7)
"""

from __future__ import annotations

from fakemq.control.control import Control
from fakemq.control.endpoints import Query, endpoint
from fakemq.control.results import Text


class Asked(Query):
    nofix: str | None = None
    """Sent by clients with a unit name; ignored."""


@endpoint("GET", "/rocketmq/{subgroup}", open=True)
def get_namesrv_addr(control: Control, subgroup: str, query: Asked) -> Text:
    """Return the name servers' addresses, ``host:port`` joined by ``;``, for any subgroup.

    It is for clients with ``-Drocketmq.namesrv.domain=HOST:PORT`` and no name server address. They
    have no token, so this endpoint needs none.
    """
    return Text(control.mq.namesrv_addr)
