"""Routes: which brokers have which queues of a topic, and where those brokers are."""

from __future__ import annotations

from collections.abc import Generator

from msgspec import field

from fakemq.protocol import fastjson
from fakemq.protocol.bodies.body import Body, Int, Long, remembered


class QueueData(Body):
    """Source: common/protocol/route/QueueData.java (4.9.7)"""

    broker_name: str | None = None
    read_queue_nums: Int = 0
    write_queue_nums: Int = 0
    perm: Int = 0
    topic_sys_flag: Int = 0


class BrokerData(Body):
    """``enable_acting_master`` is of 5.x; None leaves it out.

    Source: common/protocol/route/BrokerData.java (4.9.7, 5.3.3)
    """

    cluster: str | None = None
    broker_name: str | None = None
    broker_addrs: dict[Long, str] = field(default_factory=dict)
    enable_acting_master: bool | None = None


def _standard_json(body: object) -> bytes:
    return fastjson.dumps_standard(body).encode("ascii")


class TopicRouteData(Body):
    """Source: common/protocol/route/TopicRouteData.java (4.9.7)"""

    order_topic_conf: str | None = None
    queue_datas: list[QueueData] = field(default_factory=list)
    broker_datas: list[BrokerData] = field(default_factory=list)
    filter_server_table: dict[str, list[str]] = field(default_factory=dict)

    def encode(self, *, standard_json: bool = False) -> bytes:
        """Return the JSON of this route.

        ``standard_json`` quotes and sorts the keys and escapes characters that are not ASCII.
        """
        return remembered(self, _standard_json if standard_json else fastjson.encode)

    def encode_in_steps(self, *, standard_json: bool = False) -> Generator[None, None, bytes]:
        """As `encode`, of a route to many brokers: it yields in between."""
        if standard_json:
            return (yield from fastjson.dumps_standard_in_steps(self)).encode("ascii")
        return (yield from fastjson.encode_in_steps(self))


class ClusterInfo(Body):
    """Source: common/protocol/body/ClusterInfo.java (4.9.7)"""

    broker_addr_table: dict[str, BrokerData] = field(default_factory=dict)
    cluster_addr_table: dict[str, list[str]] = field(default_factory=dict)


class TopicList(Body):
    """Source: common/protocol/body/TopicList.java (4.9.7)"""

    topic_list: list[str] = field(default_factory=list)
    broker_addr: str | None = None
