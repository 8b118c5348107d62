"""Auth 2.0 at the front: whose key a call has, and what that user may.

The front checks if its brokers do, with their users: it has no config of its own. A change of users
or rights holds at once; Java's proxy asks a broker for each again after 20 s.

Source: auth/authentication/builder/DefaultAuthenticationContextBuilder.java,
auth/authorization/builder/DefaultAuthorizationContextBuilder.java,
proxy/grpc/pipeline/AuthenticationPipeline.java, AuthorizationPipeline.java (5.5.0)
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fakemq.broker.acl.access import note_refusal
from fakemq.broker.v5.auth.asks import Ask
from fakemq.broker.v5.auth.checks import needs_of
from fakemq.broker.v5.auth.errors import AuthError
from fakemq.broker.v5.auth.model import PUB, SUB, TOPIC, Resource, is_blank
from fakemq.protocol.grpc import messages as m
from fakemq.protocol.hosts import host_of
from fakemq.proxy.accounts import signature_of
from fakemq.proxy.checks import MOST_ENTRIES, check_count
from fakemq.proxy.status import Code, RpcError, java_error

if TYPE_CHECKING:
    from fakemq.broker.v5.auth.checks import AuthControl
    from fakemq.proxy.call import Context
    from fakemq.proxy.proxy import Proxy

_WHERE = (
    "org.apache.rocketmq.auth.authorization.builder.DefaultAuthorizationContextBuilder"
    ".newContext(DefaultAuthorizationContextBuilder.java:424)"
)
_CONSUMERS: Final = (
    m.ClientType.PUSH_CONSUMER,
    m.ClientType.SIMPLE_CONSUMER,
    m.ClientType.PULL_CONSUMER,
)


class RpcAskRule(NamedTuple):
    """What an RPC asks for."""

    says: str
    """In words."""
    asks: Callable[[Any], Iterator[Ask]]
    """Raises AuthError for a request that does not name it."""


def check(proxy: Proxy, auth: AuthControl, context: Context, request: Any) -> None:
    """Raise RpcError unless the caller of a request may send it; note the user of the caller."""
    rule = RPCS.get(context.call.rpc.name)
    kind = request.DESCRIPTOR.full_name
    host = host_of(context.remote_addr)
    try:
        username, given, content = signature_of(context)
        context.account = username

        def is_right(password: str) -> bool:
            expected = hmac.digest(password.encode("utf-8", "replace"), content, "sha1")
            return hmac.compare_digest(expected, given)

        auth.require_key(context.session, kind, username, is_right)
        if rule is not None and auth.authorizes:
            known = username if auth.authenticates and username else None
            # Java, too, reads all before it looks at the first right.
            asks = list(islice(rule.asks(request), MOST_ENTRIES + 1))
            auth.require_rights(context.session, kind, known, host, asks)
            check_count(len(asks), "parts of a message")
    except AuthError as error:
        error.needs = () if rule is None else _readable(needs_of(rule.asks(request)))
        note_refusal(
            proxy.journal,
            node=proxy.name,
            peer=context.remote_addr,
            host=host,
            error=error,
            user=context.account or "",
        )
        raise RpcError(Code.UNAUTHORIZED, error.message or "") from None


def _readable(needs: Iterator[tuple[str, object]]) -> Iterator[tuple[str, object]]:
    """Yield what a request asks for up to the first thing that cannot be read."""
    with suppress(AuthError, RpcError):
        yield from needs


# -- what each RPC asks for -----------------------------------------------------------------------


def _topic(resource: Any, *actions: str) -> Ask:
    if is_blank(resource.name):
        raise AuthError("topic is null.")
    return Ask(Resource(TOPIC, resource.name), actions)


def _group(resource: Any) -> Ask:
    if is_blank(resource.name):
        raise AuthError("group is null.")
    return Ask(Resource.of_group(resource.name), (SUB,))


def _send(request: Any) -> Iterator[Ask]:
    if not request.messages:
        raise AuthError("message is null.")
    yield _topic(request.messages[0].topic, PUB)


def _publish(request: Any) -> Iterator[Ask]:
    yield _topic(request.topic, PUB)


def _route(request: Any) -> Iterator[Ask]:
    yield _topic(request.topic, PUB, SUB)


def _consume(request: Any) -> Iterator[Ask]:
    yield _group(request.group)
    yield _topic(request.topic, SUB)


def _receive(request: Any) -> Iterator[Ask]:
    if not request.HasField("message_queue"):
        raise AuthError("messageQueue is null.")
    yield _group(request.group)
    yield _topic(request.message_queue.topic, SUB)


def _lite(request: Any) -> Iterator[Ask]:
    if request.lite_topic_set:
        yield from _consume(request)


def _heartbeat(request: Any) -> Iterator[Ask]:
    if request.client_type in _CONSUMERS:
        yield _group(request.group)


def _change(request: Any) -> Iterator[Ask]:
    yield _group(request.group)


def _end(request: Any) -> Iterator[Ask]:
    if not is_blank(request.group.name):
        yield _group(request.group)


def _telemetry(command: Any) -> Iterator[Ask]:
    if command.WhichOneof("command") != "settings":
        return
    settings = command.settings
    if not settings.HasField("publishing") and not settings.HasField("subscription"):
        # Not one of Java's two exceptions for refusals, so that it is answered as a bug.
        raise java_error(
            "settings command doesn't have publishing or subscription.", "AclException", _WHERE
        )
    for topic in settings.publishing.topics:
        yield _topic(topic, PUB)
    if settings.HasField("subscription"):
        yield _group(settings.subscription.group)
        for entry in settings.subscription.subscriptions:
            yield _topic(entry.topic, SUB)


_CONSUMES: Final = RpcAskRule("Sub for the group and the topic", _consume)
_PUBLISHES: Final = RpcAskRule("Pub for the topic", _publish)

RPCS: Final[Mapping[str, RpcAskRule]] = {
    "QueryRoute": RpcAskRule("Pub or Sub for the topic", _route),
    "Heartbeat": RpcAskRule("Sub for the group of a consumer that is not lite", _heartbeat),
    "SendMessage": RpcAskRule("Pub for the topic of the first message", _send),
    "QueryAssignment": _CONSUMES,
    "ReceiveMessage": RpcAskRule("Sub for the group and the topic of the queue", _receive),
    "AckMessage": _CONSUMES,
    "ForwardMessageToDeadLetterQueue": _CONSUMES,
    "EndTransaction": _PUBLISHES,
    "Telemetry": RpcAskRule(
        "of settings Pub for each published topic, Sub for the group and each subscribed topic",
        _telemetry,
    ),
    "NotifyClientTermination": RpcAskRule("Sub for the group, if one is named", _end),
    "ChangeInvisibleDuration": RpcAskRule("Sub for the group", _change),
    "RecallMessage": _PUBLISHES,
    "SyncLiteSubscription": RpcAskRule(
        "Sub for the group and the topic, if a lite topic is named", _lite
    ),
}
