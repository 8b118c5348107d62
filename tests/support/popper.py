"""A client that pops by hand, through sockets."""

from __future__ import annotations

from fakemq.client import Client
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.pops import Popped, pop_header


class Popper(Client):
    """A client that pops by hand."""

    addr: str

    def ask(self, code: RequestCode5, header: object) -> RemotingCommand:
        command = self.instance.command(code, header)  # type: ignore[arg-type]
        return self.run(self.instance.invoke_ok(self.addr, command))

    def pop(self, **fields: str | int | bool) -> Popped:
        return Popped(self.ask(RequestCode5.POP_MESSAGE, pop_header(**fields)))
