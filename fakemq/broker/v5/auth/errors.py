"""Why auth 2.0 refuses something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakemq.broker.acl.errors import AclError
from fakemq.dispatch.answers import Reply
from fakemq.protocol.codes import ResponseCode

_UNAVAILABLE = "An system error occurred, please try again later."


class AuthError(AclError):
    """An AuthenticationException or an AuthorizationException of Java, with its text."""

    def __init__(self, message: str, *, resource: str = "", actions: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.code = ResponseCode.NO_PERMISSION
        self.resource = resource
        self.actions = tuple(actions)

    def again(self) -> AuthError:
        """Return the same error, for another request."""
        return AuthError(self.message or "", resource=self.resource, actions=self.actions)

    def answer(self) -> Reply[Any]:
        """Return the answer to a request that is refused, to an administrator's, too.

        Source: broker/auth/pipeline/AuthenticationPipeline.java, AuthorizationPipeline.java,
        broker/processor/AdminBrokerProcessor.java#handleAuthException (5.5.0)
        """
        return Reply(code=self.code, remark=self.message)


class NothingKeptError(AuthError):
    """A broker without a metadata provider keeps no users, or no rights.

    ``message`` is what Java throws; administrators do not get to see it.
    """

    def answer(self) -> Reply[Any]:
        return Reply(code=ResponseCode.SYSTEM_ERROR, remark=_UNAVAILABLE)
