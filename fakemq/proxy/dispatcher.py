"""From a gRPC call to the handler of its RPC, and from the result to an answer.

Source: proxy/grpc/v2/GrpcMessagingApplication.java (5.5.0)
"""

from __future__ import annotations

from types import GeneratorType
from typing import TYPE_CHECKING, Any

from fakemq.events.core import failure
from fakemq.events.grpc import RpcHandled, RpcReceived
from fakemq.faults.points import BEFORE_RPC, BEFORE_RPC_REPLY
from fakemq.journal.journal import shortened
from fakemq.later import drive
from fakemq.protocol.grpc.status import GrpcStatus
from fakemq.proxy.call import Context
from fakemq.proxy.checks import is_blank
from fakemq.proxy.registry import find
from fakemq.proxy.status import Code, RpcError, java_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.proxy.call import Call
    from fakemq.proxy.proxy import Proxy

_CHANGE = "ChangeInvisibleDuration"


def dispatch(proxy: Proxy, call: Call, request: Any) -> None:
    """Handle the first message of a call; the call gets its answer now or later."""
    context = Context(call)
    name = call.rpc.name
    received = proxy.journal.add(
        RpcReceived(
            node=proxy.name,
            rpc=name,
            peer=context.remote_addr,
            client_id=shortened(context.client_id),
        )
    )
    with proxy.journal.because(received):
        intercepted(proxy, context, request, lambda: _handle(proxy, context, request))


def intercepted(proxy: Proxy, context: Context, message: Any, proceed: Callable[[], None]) -> None:
    """Handle a message of an RPC by ``proceed``, unless a fault takes it."""

    def handle() -> None:
        if proxy.before_rpc_reply:
            BEFORE_RPC_REPLY.intercept(proxy, context, message)
        proceed()

    if not (proxy.before_rpc and BEFORE_RPC.intercept(proxy, context, message, handle)):
        handle()


def _handle(proxy: Proxy, context: Context, request: Any) -> None:
    call = context.call
    handler = find(call.rpc.name)
    if handler is None:
        note(proxy, context, GrpcStatus.UNIMPLEMENTED.name)
        call.end(
            GrpcStatus.UNIMPLEMENTED,
            f"Method {call.rpc.service}/{call.rpc.name} is unimplemented",
        )
        return
    try:
        check(proxy, context, request)
        result = handler(proxy, context, request)
    except Exception as error:
        fail(proxy, context, request, error)
        return
    if isinstance(result, GeneratorType):
        within, outcome = proxy.journal.resume(), drive(result)

        def answer() -> None:
            with within():
                try:
                    response = outcome.result()
                except Exception as error:
                    fail(proxy, context, request, error)
                else:
                    _answer(proxy, context, response)

        outcome.when_done(answer)
    else:
        _answer(proxy, context, result)


def check(proxy: Proxy, context: Context, request: Any) -> None:
    """Raise RpcError for a call that no handler gets."""
    auth = proxy.auth
    if auth is not None:
        from fakemq.proxy import auth as checks  # few clusters have users

        checks.check(proxy, auth, context, request)
    manager = proxy.accounts
    if manager is not None:
        from fakemq.proxy import accounts  # few clusters have them

        try:
            accounts.check(manager, context, request, proxy.owner_of)
        except RpcError as error:
            accounts.note_refused(proxy, context, request, error)
            raise
    if is_blank(context.client_id):
        raise RpcError(Code.CLIENT_ID_REQUIRED, "client id cannot be empty")


def _answer(proxy: Proxy, context: Context, response: Any) -> None:
    if response is not None:
        note(proxy, context, code_name(response.status.code))
        context.call.reply(response)


def fail(proxy: Proxy, context: Context, request: Any, error: Exception) -> None:
    """Answer with what a handler raised."""
    refusal = as_rpc_error(proxy, error)
    note(proxy, context, refusal.code.name)
    response = context.call.rpc.response(status=refusal.status)
    if refusal.code is Code.TOO_MANY_REQUESTS and context.call.rpc.name == _CHANGE:
        response.receipt_handle = request.receipt_handle
    context.call.reply(response)


def as_rpc_error(proxy: Proxy, error: Exception) -> RpcError:
    """Return what to answer; an error of ours is written to the journal as a bug."""
    if isinstance(error, RpcError):
        return error
    proxy.journal.add(failure(proxy.name, None, error))
    return java_error(str(error), type(error).__name__, "fakemq")


def note(proxy: Proxy, context: Context, status: str) -> None:
    """Write to the journal how an RPC ended."""
    proxy.journal.add(
        RpcHandled(
            node=proxy.name,
            rpc=context.call.rpc.name,
            peer=context.remote_addr,
            client_id=shortened(context.client_id),
            status=status,
        )
    )


def code_name(code: int) -> str:
    """Return the name of a code."""
    try:
        return Code(code).name
    except ValueError:
        return str(code)
