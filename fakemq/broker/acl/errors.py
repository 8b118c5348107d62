"""The error of access control, and the answer that a peer gets for it."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from typing import Any, Final

from fakemq.dispatch.answers import Reply
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.command import SerializeType

_CLASS = "org.apache.rocketmq.acl.common.AclException"
_PACKAGE = "org.apache.rocketmq.acl.plain"


class AclError(Exception):
    """A request is not allowed, or a rule cannot be read. The text is Java's, to the letter.

    ``method`` and ``line`` are the place in Java's source that throws: a peer sees them.
    """

    needs: Iterable[tuple[str | None, object]] = ()
    """What the refused request asks for, as far as that may be read without much work."""
    resource = ""
    """The resource of auth 2.0 to which the sender has no right."""
    actions: tuple[str, ...] = ()
    """What it would have to be allowed to do with that: one of these."""

    def __init__(self, message: str | None, method: str = "", line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self._method = method
        self._line = line

    def answer(self) -> Reply[Any]:
        """Return the answer to the request that is refused.

        Source: remoting/netty/NettyRemotingAbstract.java#processRequestCommand,
        remoting/common/RemotingHelper.java#exceptionSimpleDesc (4.9.7)
        """
        file = self._method.partition(".")[0]
        text = _CLASS if self.message is None else f"{_CLASS}: {self.message}"
        return Reply(
            code=ResponseCode.SYSTEM_ERROR,
            remark=f"{text}, {_PACKAGE}.{self._method}({file}.java:{self._line})",
            # Java makes it outside the processor's callback, so in the server's own serialisation.
            serialize_type=SerializeType.JSON,
        )


_BRIEF: Final = reprlib.Repr()
_BRIEF.maxlevel = 2


def brief(value: object) -> str:
    """Return what an error shows of a value of YAML.

    A few aliases make a collection that would be gigabytes if it was written out.
    """
    try:
        return _BRIEF.repr(value)
    except ValueError as error:  # a number of more digits than Python writes
        return f"({error})"
