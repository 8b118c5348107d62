"""The configs of RocketMQ 5.3.2: those of 5.5.0, without the keys that are newer."""

from __future__ import annotations

from fakemq.config.keys import BrokerStartupKeys
from fakemq.config.v5.keys import AuthKeys5, NamesrvKeys5, NettyClientKeys5, NettyServerKeys5
from fakemq.config.v5.model import BrokerConfig5, NamesrvConfig5
from fakemq.config.v5_3.keys import BrokerKeys53, MessageStoreKeys53


class BrokerConfig53(BrokerKeys53, MessageStoreKeys53, BrokerConfig5):
    """All keys that 5.3.2's broker reads. Source: broker/BrokerStartup.java (5.3.2)"""

    release = "5.3.2"
    tables = (
        BrokerKeys53,
        NettyServerKeys5,
        NettyClientKeys5,
        MessageStoreKeys53,
        AuthKeys5,
        BrokerStartupKeys,
    )


class NamesrvConfig53(NamesrvConfig5):
    """All keys that 5.3.2's name server reads: those of 5.5.0."""

    release = "5.3.2"
    tables = (NamesrvKeys5, NettyServerKeys5)


BROKER_CONFIG = BrokerConfig53
NAMESRV_CONFIG = NamesrvConfig53
