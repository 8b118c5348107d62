"""The requests that a broker sends to its clients, with and without an answer.

Source: broker/client/net/Broker2Client.java (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.faults.points import TO_CLIENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.node import NodeContext
    from fakemq.net.session import OnReply, Session
    from fakemq.protocol.command import RemotingCommand

CALL_TIMEOUT_MS = 10_000


class ClientCalls:
    """Sends requests to the clients of one broker."""

    def __init__(
        self,
        node: NodeContext[BrokerConfig],
        *,
        client_ids: Callable[[Session], set[str]],
    ) -> None:
        self.node = node
        self.client_ids = client_ids
        """Returns the ids of the clients that registered on a connection, for scopes of faults."""

    def send_oneway(self, session: Session, command: RemotingCommand) -> None:
        """Send a client a request that wants no answer."""

        def send() -> None:
            session.invoke_oneway(command)

        if not (
            self.node.faults.at(TO_CLIENT)
            and TO_CLIENT.intercept(self, session, command, send, lambda: None)
        ):
            send()

    def call(
        self,
        session: Session,
        command: RemotingCommand,
        on_answer: OnReply,
        timeout_ms: int = CALL_TIMEOUT_MS,
    ) -> None:
        """Send a client a request; ``on_answer`` gets its response, or None after ``timeout_ms``.

        If the client disconnects, None comes after the whole time, too: a Java broker does not
        notice. Source: Broker2Client.java#callClient
        """
        clock, outside = self.node.clock, session.outside
        until_ms = clock.elapsed_ms(outside=outside) + timeout_ms

        def answered(response: RemotingCommand | None) -> None:
            left_ms = until_ms - clock.elapsed_ms(outside=outside)
            if response is None and left_ms > 0:
                clock.call_later(
                    left_ms, lambda: on_answer(None), kind="rpc_timeout", outside=outside
                )
            else:
                on_answer(response)

        if self.node.faults.at(TO_CLIENT):
            # A fault may send the request twice, and so there may be two answers: the first counts.
            answers = iter([answered])

            def answer(response: RemotingCommand | None) -> None:
                next(answers, _ignored)(response)

            def send() -> None:
                session.invoke(command, timeout_ms, answer)

            def lose() -> None:
                clock.call_later(
                    timeout_ms, lambda: answer(None), kind="rpc_timeout", outside=outside
                )

            if TO_CLIENT.intercept(self, session, command, send, lose):
                return
        session.invoke(command, timeout_ms, answered)


def _ignored(response: RemotingCommand | None) -> None:
    pass
