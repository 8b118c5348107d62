"""Which process a carrier belongs to."""

from __future__ import annotations

import os

from fakemq.client.errors import MQClientError


class OwnProcess:
    """The process that created an object; a fork copies the object into another one."""

    __slots__ = ("pid",)

    def __init__(self) -> None:
        self.pid = os.getpid()

    @property
    def is_this(self) -> bool:
        """Whether this process is the one."""
        return os.getpid() == self.pid

    def require(self) -> None:
        """Raise MQClientError in a forked child."""
        if os.getpid() != self.pid:
            raise MQClientError(
                f"this client belongs to process {self.pid}, and this is a forked child of it:"
                " create a client in the child"
            )


def closed_error() -> MQClientError:
    """Return the error of a call for a carrier that is closed."""
    return MQClientError("this client is closed: create another one")
