"""The client instance of a program on this machine."""

from __future__ import annotations

import os
import socket

import msgspec

from fakemq.client.addresses import split_addr
from fakemq.client.instance import ClientInstance
from fakemq.client.options import ClientConfig
from fakemq.clock.machine_time import real_utc_offset_ms


def instance_here(
    namesrv_addr: str, config: ClientConfig, *, instance_name: str | None = None
) -> ClientInstance:
    """Return an instance whose ids name this machine, this process and its time zone.

    ``instance_name``, if there is one, replaces the process in its client id.

    Source: client/ClientConfig.java#buildMQClientId (4.9.7)
    """
    ip = local_ip(namesrv_addr.partition(";")[0].strip())
    if instance_name:
        config = msgspec.structs.replace(config, client_id=f"{ip}@{instance_name}")
    return ClientInstance(
        namesrv_addr, config, ip=ip, pid=os.getpid(), utc_offset_ms=real_utc_offset_ms()
    )


def local_ip(peer_addr: str) -> str:
    """Return the address of this machine as the peer sees it; sends nothing."""
    host, port = split_addr(peer_addr)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((host, port))
        except OSError:
            return "127.0.0.1"
        ip: str = probe.getsockname()[0]
        return ip
