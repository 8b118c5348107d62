"""The configs of RocketMQ 5.5.0: those of 4.9.7, with its other keys and defaults."""

from __future__ import annotations

from fakemq.config.keys import BrokerStartupKeys
from fakemq.config.model import BrokerConfig, NamesrvConfig, known_exporter, port_of
from fakemq.config.v5.keys import (
    AuthKeys5,
    BrokerKeys5,
    MessageStoreKeys5,
    NamesrvKeys5,
    NettyClientKeys5,
    NettyServerKeys5,
)


class BrokerConfig5(
    BrokerKeys5, NettyServerKeys5, NettyClientKeys5, MessageStoreKeys5, AuthKeys5, BrokerConfig
):
    """All keys that 5.5.0's broker reads. Source: broker/BrokerStartup.java (5.5.0)"""

    release = "5.5.0"
    tables = (
        BrokerKeys5,
        NettyServerKeys5,
        NettyClientKeys5,
        MessageStoreKeys5,
        AuthKeys5,
        BrokerStartupKeys,
    )
    not_in_answers = (*BrokerConfig.not_in_answers, AuthKeys5)
    of_start = (AuthKeys5,)
    answers_are_sorted = True
    listen_port: int = 10911
    enable_acting_master = False

    @property
    def has_acting_master(self) -> bool:
        return self.enable_slave_acting_master

    @property
    def limits_light_queues(self) -> bool:
        return True

    @property
    def has_controller(self) -> bool:
        return self.enable_controller_mode

    @property
    def names_users(self) -> bool:
        """Whether it says where users of auth 2.0 are kept, or names one."""
        return bool(
            self.authentication_metadata_provider
            or self.authorization_metadata_provider
            or self.init_authentication_user
            or self.inner_client_authentication_credentials
        )

    @property
    def metrics_port(self) -> int | None:
        return port_of(self.metrics_exporter_type, self.metrics_prom_exporter_port)

    def keep_known_exporter(self) -> None:
        self.metrics_exporter_type = known_exporter(self.metrics_exporter_type)

    @property
    def node_name(self) -> str:
        """The name of this broker everywhere in fakemq, such as ``broker-a-0``.

        A broker under a controller keeps its name while its role and its brokerId change: it is
        called ``broker-a@1``, by its number in the cluster.
        """
        if self.enable_controller_mode:
            return f"{self.broker_name}@{self.broker_id + 1}"
        return super().node_name


class NamesrvConfig5(NamesrvKeys5, NettyServerKeys5, NamesrvConfig):
    """All keys that 5.5.0's name server reads. Source: namesrv/NamesrvStartup.java (5.5.0)"""

    release = "5.5.0"
    tables = (NamesrvKeys5, NettyServerKeys5)
    answers_are_sorted = True
    listen_port: int = 9876


BROKER_CONFIG = BrokerConfig5
NAMESRV_CONFIG = NamesrvConfig5


def config5(config: BrokerConfig) -> BrokerConfig5:
    """Return a broker's config with the keys that only 5.5.0 has; the broker must be one."""
    assert isinstance(config, BrokerConfig5), "a broker of another reference"
    return config
