"""Clients and bare sockets at clusters that speak TLS."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fakemq
from fakemq.client import Client
from fakemq.client.errors import RemotingError
from fakemq.events.core import HandlerFailed, Warned
from fakemq.tls.contexts import ClientTls
from tests.support.certificates import Certificates


@pytest.fixture(scope="module")
def enforcing() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(tls="enforcing", topics={"orders": 1}) as cluster:
        yield cluster


@pytest.fixture
def authority(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


def trusting(mq: fakemq.Cluster) -> dict[str, Any]:
    return {"tls": True, "tls_ca_file": mq.tls.ca_file}


def warnings(mq: fakemq.Cluster) -> list[str]:
    return [warned.text for warned in mq.journal.find(Warned)]


def connected(mq: fakemq.Cluster) -> socket.socket:
    host, _, port = mq.namesrv_addr.rpartition(":")
    return socket.create_connection((host, int(port)), 5)


def asked(mq: fakemq.Cluster, **options: Any) -> str:
    """Return why a client cannot ask the name server; "" if it can."""
    with Client(mq.namesrv_addr, **options) as client:
        try:
            client.cluster_info()
        except RemotingError as error:
            return str(error)
    return ""


def warned_once(mq: fakemq.Cluster, text: str) -> None:
    mq.wait_for(lambda: warnings(mq))
    (found,) = warnings(mq)
    assert re.search(text, found), found
    assert mq.journal.find(HandlerFailed) == []


def insecure() -> ssl.SSLContext:
    """Return a context that takes any certificate."""
    return ClientTls().context
