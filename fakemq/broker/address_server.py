"""Name servers that an address server names by HTTP, with fetchNamesrvAddrByAddressServer.

Java asks 10 s after the start, then every 2 minutes, if the broker has no namesrvAddr. What it
cannot read is logged, and the former name servers stay.
Differs: no redirection is followed; an answer has at most 64 KiB, and names valid addresses only.

Source: common/namesrv/TopAddressing.java, broker/out/BrokerOuterAPI.java#fetchNameServerAddr,
common/MixAll.java#getWSAddr (4.9.7)
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fakemq.config.rows import are_addresses
from fakemq.events.core import Warned
from fakemq.journal.journal import shortened
from fakemq.net.http_get import HttpAnswer, HttpGet

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.node import NodeContext
    from fakemq.net.link import Link
    from fakemq.net.outbound import Outbound

TIMEOUT_MS = 3_000
DEFAULT_PORT = 8080
_HOST = re.compile(r"[A-Za-z0-9._-]+(?::[0-9]{1,5})?")
_GROUP = re.compile(r"[!-~]*")
_MOST = 64
"""The most name servers that an answer may name: the broker connects to each."""


class AddressServer:
    """The address server of one broker."""

    def __init__(self, node: NodeContext[BrokerConfig], outbound: Callable[[], Outbound]) -> None:
        self._node = node
        self._outbound = outbound
        self._asking: HttpGet | None = None

    def fetch(self, then: Callable[[tuple[str, ...]], None]) -> None:
        """Ask for the name servers; call ``then`` with them. A failure is a warning."""
        config, clock = self._node.config, self._node.clock
        domain, group = config.rmq_address_server_domain, config.rmq_address_server_sub_group
        path = f"/rocketmq/{group}"
        if not (_HOST.fullmatch(domain) and _GROUP.fullmatch(group)):
            self._failed(f"{domain}{path}", "this is no address")
            return
        addr = domain if ":" in domain else f"{domain}:{DEFAULT_PORT}"

        def answered(answer: HttpAnswer) -> None:
            clock.cancel(timer)
            self._asking = None
            if clock.paused:  # a stopped process reads nothing
                clock.call_later(0, lambda: take(answer), kind="update_namesrv_addr")
            else:
                take(answer)

        def take(answer: HttpAnswer) -> None:
            if answer.why or answer.status != 200:
                self._failed(f"{addr}{path}", answer.why or f"status {answer.status}")
            elif addrs := _addresses(answer.body):
                then(addrs)
            else:
                text = shortened(answer.body.decode("utf-8", "replace"))
                self._failed(f"{addr}{path}", f"no addresses of name servers: {text!r}")

        def opened(asking: HttpGet | None) -> None:
            if asking is None:
                clock.cancel(timer)
                self._failed(f"{addr}{path}", "nothing listens there")

        def late() -> None:
            if self._asking is not None:
                self._asking.give_up(f"no answer within {TIMEOUT_MS} ms")

        def make(link: Link) -> HttpGet:
            self._asking = HttpGet(link, self._node.name, domain, path, answered)
            return self._asking

        self.stop()
        timer = clock.call_later(TIMEOUT_MS, late, kind="rpc_timeout", outside=True)
        self._outbound().dial(addr, make, opened)

    def stop(self) -> None:
        """Forget a question that is under way."""
        asking, self._asking = self._asking, None
        if asking is not None:
            asking.abandon()

    def _failed(self, url: str, why: str) -> None:
        text = f"the address server http://{url} names no name servers: {why}"
        self._node.journal.add(Warned(node=self._node.name, text=text))


def _addresses(body: bytes) -> tuple[str, ...]:
    """Return the addresses of the first line; none if they are not all valid.

    Source: common/namesrv/TopAddressing.java#clearNewLine (4.9.7)
    """
    lines = body.decode("utf-8", "replace").strip().splitlines()
    text = lines[0] if lines else ""
    addrs = tuple(addr for addr in text.split(";") if addr)
    return addrs if len(addrs) <= _MOST and text.isascii() and are_addresses(text) else ()
