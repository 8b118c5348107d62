"""The name server that a client asks, and the next one after a failure."""

from __future__ import annotations

from random import Random

from fakemq.client.errors import MQClientError, RemotingConnectError, RemotingError
from fakemq.client.operation import Operation, ask
from fakemq.protocol.command import RemotingCommand

ADVICE = "no name server answers, start one there or correct namesrv_addr"


class NameServers:
    """Asks one name server until it fails, then the next in a shuffled list.

    There are two kinds of failure: 1. a name server that refuses the connection is skipped at once;
    2. a request that was sent and not answered fails, and only the next request goes to another
    name server. Differs: when a name server has closed its connection Java skips it; this client
    first tries to connect to it again.

    Source: remoting/netty/NettyRemotingClient.java#getAndCreateNameserverChannel,
    #updateNameServerAddressList (4.9.7)
    """

    def __init__(self, addrs: list[str], choices: Random) -> None:
        if not addrs:
            raise MQClientError("no name server address: give host:port, several joined by ';'")
        self.addrs = list(addrs)
        choices.shuffle(self.addrs)
        self._index = choices.randrange(1000)
        self.chosen: str | None = None

    def ask(self, command: RemotingCommand, timeout_ms: int) -> Operation[RemotingCommand]:
        """Send a request to a name server that answers; raise RemotingError if none does."""
        reason = ""
        for _ in self.addrs:
            if self.chosen is None:
                self._index += 1
                self.chosen = self.addrs[self._index % len(self.addrs)]
            try:
                return (yield from ask(self.chosen, command, timeout_ms))
            except RemotingConnectError as error:
                self.chosen = None
                reason = error.reason
            except RemotingError:
                self.chosen = None
                raise
        raise RemotingConnectError(f"[{', '.join(self.addrs)}]", reason, ADVICE)
