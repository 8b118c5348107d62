"""Where a cluster under attack listens."""

from __future__ import annotations

import msgspec

from fakemq import Cluster


class Ports(msgspec.Struct, tag=True):
    """The ports of a name server, of a master, and of the control port."""

    namesrv: int
    main: int
    vip: int
    ha: int
    control: int

    @classmethod
    def of(cls, mq: Cluster) -> Ports:
        """Return the ports of a running cluster that has a control port."""
        main = int(mq.broker("broker-a").addr.rpartition(":")[2])
        assert mq.control_url is not None
        return cls(
            namesrv=int(mq.namesrv_addr.rpartition(":")[2]),
            main=main,
            vip=main - 2,
            ha=main + 1,
            control=int(mq.control_url.rpartition(":")[2]),
        )
