"""The addresses of a broker, which follow from its config.

A broker listens at three ports: listenPort for clients, listenPort - 2 for clients that do not
pull (the VIP port), and listenPort + 1 for slaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.protocol.hosts import Host, own_host

if TYPE_CHECKING:
    from fakemq.config.model import BrokerConfig


def client_addr(config: BrokerConfig) -> str:
    """Return ``host:port`` that clients get from the route, and that message ids carry."""
    return f"{config.broker_ip1}:{config.listen_port}"


def vip_addr(config: BrokerConfig) -> str:
    """Return the address that answers every code but pulls."""
    return f"{config.broker_ip1}:{config.listen_port - 2}"


def ha_addr(config: BrokerConfig) -> str:
    """Return where slaves connect: at the next port, whatever haListenPort says."""
    return f"{config.broker_ip2}:{config.listen_port + 1}"


def store_host(config: BrokerConfig) -> Host:
    """Return `client_addr` as records keep it."""
    return own_host(config.broker_ip1, config.listen_port)


def namesrv_addrs(config: BrokerConfig) -> list[str]:
    """Return the addresses of ``namesrvAddr``; none if it is not set."""
    return [addr for addr in (config.namesrv_addr or "").split(";") if addr]
