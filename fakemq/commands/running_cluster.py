"""A running cluster, fake or real, as the commands that look at it ask it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from fakemq.commands.connection_options import CLIENT_NAMES, DEFAULTS, connection_options
from fakemq.commands.said import say
from fakemq.commands.silence import Silence
from fakemq.protocol.topics import DLQ_PREFIX, RETRY_PREFIX, SYSTEM_TOPIC_PREFIX, TOOLS_GROUP

if TYPE_CHECKING:
    from fakemq.client.admin import Admin
    from fakemq.client.blocking import Client
    from fakemq.client.cluster_admin import ClusterAdmin
    from fakemq.client.operation import Operation
    from fakemq.client.options import ClientOptions
    from fakemq.errors import FakemqError
    from fakemq.protocol.bodies.stats import ConsumeStats
    from fakemq.protocol.message import MessageExt

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

Complete = Callable[[click.Context, click.Parameter, str], list[str]]

AT_ONCE = 16
"""How many requests are under way at the same time."""


class BrokerNode(NamedTuple):
    """A master or slave that a name server knows."""

    cluster: str
    name: str
    id: int
    addr: str


class RunningCluster:
    """Asks a cluster; ``admin`` and ``brokers_admin`` make the operations for `all` and `ask`."""

    def __init__(self, namesrv_addr: str, options: ClientOptions) -> None:
        from fakemq.client.blocking import Client
        from fakemq.client.cluster_admin import ClusterAdmin

        self.client: Client = Client(namesrv_addr, **options)
        self.admin: Admin = self.client.admin
        self.brokers_admin: ClusterAdmin = ClusterAdmin(self.client.instance)
        self.failures: dict[str, FakemqError] = {}
        """Why a broker did not answer, by its address; see `answers` and `failures_reported`."""
        self._silence = Silence()

    def close(self) -> None:
        """Close every connection."""
        self.client.close()

    def forget(self) -> None:
        """Ask for the brokers again when they are needed next, and those that were silent, too."""
        self.__dict__.pop("nodes", None)
        self._silence.forget()

    def ask(self, operation: Operation[T]) -> T:
        """Run one operation; a server that was silent before is not waited for again."""
        return self.client.run(self._silence.spared(operation))

    def all(self, operations: Mapping[K, Operation[T]]) -> dict[K, T | FakemqError]:
        """Run many operations, some at a time, as `ask` does; return each result or error."""
        from functools import partial

        found: dict[K, T | FakemqError] = {}
        parallel = self.client.parallel()
        waiting = list(operations.items())[::-1]
        while waiting or len(parallel):
            while waiting and len(parallel) < AT_ONCE:
                key, operation = waiting.pop()
                parallel.start(self._silence.spared(operation), partial(found.__setitem__, key))
            if len(parallel):
                parallel.wait(timeout_ms=1000)
        return {key: found[key] for key in operations}

    def answers(self, operations: Mapping[K, Operation[T]]) -> dict[K, T]:
        """Run many operations; return the results of the brokers that answer.

        The first error of each of the others is kept in `failures`.
        """
        from fakemq.client.errors import MQBrokerError, RemotingError
        from fakemq.errors import FakemqError
        from fakemq.protocol.codes import ResponseCode

        results: dict[K, T] = {}
        for key, result in self.all(operations).items():
            if not isinstance(result, FakemqError):
                results[key] = result
            elif not isinstance(result, (MQBrokerError, RemotingError)):
                raise result
            elif getattr(result, "code", None) != ResponseCode.TOPIC_NOT_EXIST:
                # A topic may be deleted meanwhile; anything else makes the result incomplete.
                self.failures.setdefault(result.addr, result)
        return results

    def all_ok(self, operations: Mapping[K, Operation[T]]) -> dict[K, T]:
        """Run many operations; raise the first error of any."""
        from fakemq.errors import FakemqError

        results: dict[K, T] = {}
        for key, result in self.all(operations).items():
            if isinstance(result, FakemqError):
                raise result
            results[key] = result
        return results

    @cached_property
    def nodes(self) -> list[BrokerNode]:
        """Every broker that a name server knows, by cluster, name and id."""
        info = self.ask(self.client.instance.cluster_info())
        cluster_of = {
            name: cluster for cluster, names in info.cluster_addr_table.items() for name in names
        }
        return sorted(
            BrokerNode(cluster_of.get(name, one.cluster or ""), name, broker_id, addr)
            for name, one in info.broker_addr_table.items()
            for broker_id, addr in one.broker_addrs.items()
        )

    def take_failures(self) -> list[str]:
        """Return a line for each broker that did not answer, and forget it."""
        texts = [self.with_name(addr, error) for addr, error in self.failures.items()]
        self.failures.clear()
        return texts

    def with_name(self, addr: str, error: FakemqError) -> str:
        """Return an error with the name of the broker at the address, if there is one."""
        from fakemq.errors import FakemqError

        try:
            node = next((one for one in self.nodes if one.addr == addr), None)
        except FakemqError:
            node = None
        if node is None:
            return str(error)
        return f"{node.name}{'' if node.id == 0 else f' (slave {node.id})'}: {error}"

    @property
    def asked(self) -> list[BrokerNode]:
        """The master of each broker, or its first slave while no name server knows a master.

        Source: common/protocol/route/BrokerData.java#selectBrokerAddr (4.9.7), which mqadmin uses
        """
        first: dict[str, BrokerNode] = {}
        for one in self.nodes:  # masters have id 0, and so come first
            first.setdefault(one.name, one)
        return list(first.values())

    def nothing(self, text: str) -> str:
        """Return why a table is empty: this text, unless there is no broker."""
        return text if self.nodes else "no broker is registered at the name server"

    def topic_names(self) -> list[str]:
        """Return every topic that a name server knows, in no order."""
        return self.ask(self.client.instance.topic_names())

    def topics(self, *, all_topics: bool) -> list[str]:
        """Return the topics; RocketMQ's own, of retries and of dead letters only if asked."""
        names = sorted(self.topic_names())
        if all_topics:
            return names
        own = self.answers({one: self.brokers_admin.system_topics(one.addr) for one in self.asked})
        system = {topic for topics in own.values() for topic in topics}
        system |= {one.name for one in self.nodes} | {one.cluster for one in self.nodes}
        prefixes = (RETRY_PREFIX, DLQ_PREFIX, SYSTEM_TOPIC_PREFIX)
        return [name for name in names if name not in system and not name.startswith(prefixes)]

    def require_topic(self, topic: str) -> None:
        """Raise MQClientError, with a similar name, for a topic that no name server knows."""
        if self.ask(self.client.instance.update_route(topic)) is None:
            from fakemq.client.errors import MQClientError
            from fakemq.errors import did_you_mean

            near = did_you_mean(topic, self.topics(all_topics=False))
            raise MQClientError(f"there is no topic {topic!r}{near}")

    def require_no_mistake(self, topic: str) -> None:
        """Raise MQClientError for a topic that no client may send to, and for an unknown one whose
        name is almost like a known one's.
        """
        from fakemq.client.errors import MQClientError
        from fakemq.client.producing.group_names import require_topic_to_send
        from fakemq.config.almost_like import almost_like

        require_topic_to_send(topic)
        if self.ask(self.client.instance.update_route(topic)) is None:
            near = almost_like(topic, self.topics(all_topics=False))
            if near is not None:
                text = f"there is no topic {topic!r}; did you mean {near}? --create creates it"
                raise MQClientError(text)

    def group_names(self) -> set[str]:
        """Return the groups that any broker knows, or that have a topic for retries.

        What is popped has such a topic for each group and topic: those name no further group.
        """
        from fakemq.protocol.pop import is_pop_retry_topic

        found = self.answers({one: self.brokers_admin.groups(one.addr) for one in self.asked})
        known = {name for groups in found.values() for name in groups}
        topics = set(self.topic_names())
        retries = {topic for topic in topics if topic.startswith(RETRY_PREFIX)}
        groups = known | {topic.removeprefix(RETRY_PREFIX) for topic in retries}
        return known | {
            topic.removeprefix(RETRY_PREFIX)
            for topic in retries
            if not is_pop_retry_topic(topic, groups, topics)
        }

    def require_group(self, group: str) -> None:
        """Raise MQClientError, with a similar name, for a group that no broker knows."""
        names = self.group_names()
        if group not in names:
            from fakemq.client.errors import MQClientError
            from fakemq.errors import did_you_mean

            near = did_you_mean(group, shown(names))
            raise MQClientError(f"there is no group {group!r}{self.where_known()}{near}")

    def where_known(self) -> str:
        """Return words that limit what was not found to the brokers that answered."""
        return " at the brokers that answered" if self.failures else ""

    def consume_stats(
        self, groups: Iterable[str], topic: str | None = None
    ) -> dict[str, ConsumeStats]:
        """Return how far each group has consumed one topic, or all, at the brokers that answer."""
        from fakemq.client.admin import add_stats
        from fakemq.protocol.bodies.stats import ConsumeStats

        stats = {group: ConsumeStats() for group in groups}
        found = self.answers(
            {
                (group, one): self.brokers_admin.consume_stats(group, one.addr, topic)
                for group in stats
                for one in self.asked
            }
        )
        for (group, _), part in found.items():
            add_stats(stats[group], part)
        return stats

    def messages(self, topics: Iterable[str], key: str, *, unique: bool) -> list[MessageExt]:
        """Return the topics' messages with a key, or a unique id, at the brokers that answer.

        The first stored one is the first.
        """
        from fakemq.client.admin import any_addr

        routes = self.all_ok({one: self.client.instance.fetch_route(one) for one in topics})
        found = self.answers(
            {
                (topic, addr): self.brokers_admin.messages(topic, key, addr, unique=unique)
                for topic, route in routes.items()
                for broker in (route.broker_datas if route else ())
                if (addr := any_addr(broker)) is not None
            }
        )
        messages = [message for part in found.values() for message in part]
        return sorted(messages, key=lambda one: one.store_timestamp_ms)


SYSTEM_GROUPS = frozenset(
    (
        *(TOOLS_GROUP, "FILTERSRV_CONSUMER", "SELF_TEST_C_GROUP", "SELF_TEST_P_GROUP"),
        *("CLIENT_INNER_PRODUCER", "__MONITOR_CONSUMER", "CID_ONS-HTTP-PROXY"),
        *("CID_ONSAPI_OWNER", "CID_ONSAPI_PERMISSION", "CID_ONSAPI_PULL"),
    )
)
SYSTEM_GROUP_PREFIX = "CID_RMQ_SYS_"
"""Groups that each broker has; users' groups may begin with CID_, too.

Source: common/MixAll.java (4.9.7)
"""


def shown(groups: Iterable[str]) -> list[str]:
    """Return the groups without those that RocketMQ itself uses, sorted."""
    return sorted(
        name
        for name in groups
        if name not in SYSTEM_GROUPS and not name.startswith(SYSTEM_GROUP_PREFIX)
    )


def opened(given: dict[str, Any]) -> RunningCluster:
    """Take the options of a connection out of a command's options, and return the cluster."""
    from fakemq.clock.durations import duration_ms
    from fakemq.errors import ConfigError

    timeout_ms = duration_ms(given.pop("timeout"), name="timeout")
    if timeout_ms < 1:
        raise ConfigError(f"timeout={timeout_ms} ms: expected over 0")
    options: Any = {name: given.pop(name) for name in CLIENT_NAMES}
    # A certificate without TLS would have no use.
    options["tls"] = options["tls"] or bool(options["tls_ca_file"] or options["tls_cert_file"])
    options |= {"api_timeout_ms": timeout_ms, "send_timeout_ms": timeout_ms}
    options["consumer_group"] = TOOLS_GROUP
    return RunningCluster(given.pop("namesrv"), options)


@contextmanager
def connected(given: dict[str, Any]) -> Iterator[RunningCluster]:
    """Open the cluster as `opened` does, and close it; say how to name another if none answers."""
    from fakemq.client.errors import MQClientError, RemotingConnectError, RemotingError

    another = "name another by -n or $NAMESRV_ADDR"
    with closing(opened(given)) as cluster:
        try:
            yield cluster
        except RemotingError as error:
            if isinstance(error, RemotingConnectError) and error.advice:
                advice = f"no name server answers, start one there or {another}"
                error = RemotingConnectError(error.addr, error.reason, advice)
            if error.addr in cluster.client.instance.name_servers.addrs:
                text = f"{error}: no name server answers there, {another}"
            else:
                text = cluster.with_name(error.addr, error)
            raise MQClientError(text) from None


@contextmanager
def failures_reported(cluster: RunningCluster) -> Iterator[None]:
    """End a command with a line for each broker that did not answer, and with exit code 1.

    What the others answered is shown before.
    """
    texts: list[str] = []
    try:
        yield
    finally:
        texts = cluster.take_failures()
        for text in texts:
            say(f"Error: {text}")
    if texts:
        raise click.exceptions.Exit(1)


def completes(names: Callable[[RunningCluster], Iterable[str]]) -> Complete:
    """Return what completes an argument in a shell with names that a running cluster has.

    Without a cluster that answers at once there is nothing to complete with, and no error.
    """

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        from fakemq.errors import FakemqError

        try:
            with closing(opened({**DEFAULTS, **_given(ctx), "timeout": "500ms"})) as cluster:
                found = [name for name in names(cluster) if name.startswith(incomplete)]
                return [name for name in found if name.isprintable()]
        except FakemqError:
            return []

    return complete


def topic_names(cluster: RunningCluster) -> list[str]:
    """Return the topics to complete with."""
    return cluster.topics(all_topics=False)


def consumer_groups(cluster: RunningCluster) -> list[str]:
    """Return the groups to complete with."""
    return shown(cluster.group_names())


def _given(ctx: click.Context) -> dict[str, Any]:
    return {name: ctx.params[name] for name in DEFAULTS if ctx.params.get(name) is not None}


def asks_cluster(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a connection; give the function the `RunningCluster` as ``cluster``."""

    @wraps(function)
    def call(**given: Any) -> None:
        with connected(given) as cluster:
            function(cluster=cluster, **given)

    return connection_options(call)
