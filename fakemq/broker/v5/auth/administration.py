"""What the ten requests of administrators share: the tables of a broker, and how they answer.

Source: broker/processor/AdminBrokerProcessor.java#createUser and those below it (5.5.0)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from fakemq.broker.v5.auth.errors import AuthError, NothingKeptError
from fakemq.broker.v5.auth.model import user_in, user_key
from fakemq.broker.v5.auth.users import Users, acl_in_steps
from fakemq.dispatch.answers import NOTHING_SAID, Refused, Reply, Thrown
from fakemq.dispatch.outcomes import readable_json
from fakemq.protocol import fastjson
from fakemq.protocol.bodies.body import Body
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.errors import BodyError, NullBodyError
from fakemq.protocol.signature import ACCESS_KEY
from fakemq.protocol.v5.bodies.auth import AclInfo, UserInfo
from fakemq.protocol.v5.codes import ResponseCode5

if TYPE_CHECKING:
    from fakemq.broker.v5.broker import Broker5
    from fakemq.clock.slices import Steps
    from fakemq.dispatch.answers import Request
    from fakemq.protocol.table import NoHeader
    from fakemq.protocol.v5.headers.auth import AclRequestHeader, UserRequestHeader

B = TypeVar("B", bound=Body)

ONLY_SUPER = "The super user can only be update by super user"
_PROCESSOR = "org.apache.rocketmq.broker.processor.AdminBrokerProcessor"


def users_of(broker: Broker5) -> Users:
    """Return the users of a broker; empty ones, which refuse all, where it keeps none."""
    return Users() if broker.users is None else broker.users


def answered(act: Callable[[], bytes | None]) -> Reply[NoHeader]:
    """Return the answer with what ``act`` returns, or to the AuthError that it raises."""
    try:
        return Reply(body=act() or b"", remark=NOTHING_SAID)
    except AuthError as error:
        return error.answer()


def changed(users: Users, act: Callable[[], None]) -> Steps[Reply[NoHeader]]:
    """Return the answer once what ``act`` changes is in the file, or to the AuthError it raises."""
    before = users.changes
    try:
        act()
        reply: Reply[NoHeader] = Reply(remark=NOTHING_SAID)
    except AuthError as error:  # a user that is deleted may be in the file of rights only
        reply = error.answer()
    if users.changes != before:
        yield from users.persist()
    return reply


def named(request: Request[UserRequestHeader], *, blank: bool = False) -> str:
    """Return the user that a request names; raise Refused for none, or a ``blank`` name."""
    name = request.header.username
    if not name or (blank and not name.strip()):
        raise Refused(ResponseCode5.INVALID_PARAMETER, "The username is blank")
    return name


def sent_user(request: Request[UserRequestHeader], name: str, method: str, line: int) -> UserInfo:
    """Return the user that the body describes, with the header's name.

    ``method`` and ``line`` are where Java fails without a body.
    """
    info = _decoded(UserInfo, request.body)
    if info is None:
        raise Thrown(
            "java.lang.NullPointerException: Cannot invoke"
            ' "org.apache.rocketmq.remoting.protocol.body.UserInfo.setUsername(String)" because'
            f' "userInfo" is null, {_PROCESSOR}.{method}(AdminBrokerProcessor.java:{line})'
        )
    info.username = name
    return info


def _decoded(kind: type[B], body: bytes) -> B | None:
    """Return what a body says; None for none. Raise BodyError for what is no JSON object."""
    if not body or body.strip() == b"null":
        return None
    try:
        return kind.decode(readable_json(body))
    except NullBodyError as error:
        raise BodyError(str(error)) from None


def is_super(users: Users, request: Request[Any]) -> bool:
    """Return whether the caller is a super user; a request without a key is taken for one's.

    Raise AuthError for a key of no user.
    Source: broker/processor/AdminBrokerProcessor.java#isNotSuperUserLogin (5.5.0)
    """
    access_key = request.command.ext_fields.get(ACCESS_KEY)
    return not access_key or users.is_super(access_key)


def require_super(users: Users, request: Request[Any], why: str) -> None:
    """Raise Refused unless the caller is a super user, and Thrown for a key of no user."""
    try:
        if is_super(users, request):
            return
    except AuthError as error:
        kind = "java.lang.IllegalStateException"
        if not isinstance(error, NothingKeptError):
            kind = "org.apache.rocketmq.auth.authentication.exception.AuthenticationException"
        raise Thrown(
            f"java.util.concurrent.CompletionException: {kind}: {error.message},"
            " java.base/java.util.concurrent.CompletableFuture"
            ".encodeThrowable(CompletableFuture.java:315)"
        ) from None
    raise Refused(ResponseCode.SYSTEM_ERROR, why)


def granted(
    broker: Broker5, request: Request[AclRequestHeader], method: str, line: int
) -> Steps[Reply[NoHeader]]:
    """Give a subject the rights that the body describes; return the answer.

    ``method`` and ``line`` are where Java fails without a body.
    """
    users = users_of(broker)
    info = _decoded(AclInfo, request.body)
    if info is None or not info.policies:
        raise Thrown(
            "org.apache.rocketmq.auth.authorization.exception.AuthorizationException:"
            f" The body of acl is null, {_PROCESSOR}.{method}(AdminBrokerProcessor.java:{line})"
        )
    try:
        acl = yield from acl_in_steps(info, request.header.subject)
    except AuthError as error:
        return error.answer()
    return (yield from changed(users, lambda: users.grant(acl)))


def subject_of(text: str | None) -> str | None:
    """Return the subject that a text names; None for none."""
    name = user_in(text)
    return None if name is None else user_key(name)


def listed(infos: Sequence[Body]) -> bytes | None:
    """Return the body of a list; none of an empty one."""
    return fastjson.dumps(infos).encode() if infos else None
