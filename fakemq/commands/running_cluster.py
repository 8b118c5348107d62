"""A running cluster, fake or real, as the commands that look at it ask it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

if TYPE_CHECKING:
    from fakemq.client.admin import Admin
    from fakemq.client.blocking import Client
    from fakemq.client.cluster_admin import ClusterAdmin
    from fakemq.client.operation import Operation
    from fakemq.client.options import ClientOptions
    from fakemq.errors import FakemqError

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

Complete = Callable[[click.Context, click.Parameter, str], list[str]]

DEFAULT_NAMESRV = "127.0.0.1:9876"
TOOLS_GROUP = "TOOLS_CONSUMER"
"""The group of tools that read queues; each broker has it. Source: common/MixAll.java (4.9.7)"""
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

    def close(self) -> None:
        """Close every connection."""
        self.client.close()

    def forget(self) -> None:
        """Ask for the brokers again when they are needed next."""
        self.__dict__.pop("nodes", None)

    def ask(self, operation: Operation[T]) -> T:
        """Run one operation."""
        return self.client.run(operation)

    def all(self, operations: Mapping[K, Operation[T]]) -> dict[K, T | FakemqError]:
        """Run many operations, some at a time; return the result or the error of each."""
        from functools import partial

        found: dict[K, T | FakemqError] = {}
        parallel = self.client.parallel()
        waiting = list(operations.items())[::-1]
        while waiting or len(parallel):
            while waiting and len(parallel) < AT_ONCE:
                key, operation = waiting.pop()
                parallel.start(operation, partial(found.__setitem__, key))
            if len(parallel):
                parallel.wait(timeout_ms=1000)
        return {key: found[key] for key in operations}

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
        info = self.client.cluster_info()
        cluster_of = {
            name: cluster for cluster, names in info.cluster_addr_table.items() for name in names
        }
        return sorted(
            BrokerNode(cluster_of.get(name, one.cluster or ""), name, broker_id, addr)
            for name, one in info.broker_addr_table.items()
            for broker_id, addr in one.broker_addrs.items()
        )

    @property
    def masters(self) -> list[BrokerNode]:
        return [one for one in self.nodes if one.id == 0]

    def topics(self, *, all_topics: bool) -> list[str]:
        """Return the topics; RocketMQ's own, of retries and of dead letters only if asked."""
        from fakemq.protocol.topics import DLQ_PREFIX, RETRY_PREFIX, SYSTEM_TOPIC_PREFIX

        names = sorted(self.client.topic_names())
        if all_topics:
            return names
        own = self.all({one: self.brokers_admin.system_topics(one.addr) for one in self.masters})
        system = {topic for topics in own.values() if isinstance(topics, list) for topic in topics}
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
        """Raise MQClientError for an unknown topic whose name is almost like a known one's."""
        from fakemq.client.errors import MQClientError
        from fakemq.slips import almost_like

        if self.ask(self.client.instance.update_route(topic)) is None:
            near = almost_like(topic, self.topics(all_topics=False))
            if near is not None:
                text = f"there is no topic {topic!r}; did you mean {near}? --create creates it"
                raise MQClientError(text)

    def group_names(self) -> set[str]:
        """Return the groups that any master knows, or that have a topic for retries.

        What is popped has such a topic for each group and topic: those name no further group.
        """
        from fakemq.protocol.pop import is_pop_retry_topic
        from fakemq.protocol.topics import RETRY_PREFIX

        found = self.all_ok({one: self.brokers_admin.groups(one.addr) for one in self.masters})
        known = {name for groups in found.values() for name in groups}
        topics = set(self.client.topic_names())
        retries = {topic for topic in topics if topic.startswith(RETRY_PREFIX)}
        groups = known | {topic.removeprefix(RETRY_PREFIX) for topic in retries}
        return known | {
            topic.removeprefix(RETRY_PREFIX)
            for topic in retries
            if not is_pop_retry_topic(topic, groups, topics)
        }

    def require_group(self, group: str) -> None:
        """Raise MQClientError, with a similar name, for a group that no master knows."""
        names = self.group_names()
        if group not in names:
            from fakemq.client.errors import MQClientError
            from fakemq.errors import did_you_mean

            raise MQClientError(f"there is no group {group!r}{did_you_mean(group, shown(names))}")


SYSTEM_GROUPS = frozenset(
    (
        *("TOOLS_CONSUMER", "FILTERSRV_CONSUMER", "SELF_TEST_C_GROUP", "SELF_TEST_P_GROUP"),
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


_OPTIONS = (
    click.option(
        "-n",
        "--namesrv",
        envvar="NAMESRV_ADDR",
        default=DEFAULT_NAMESRV,
        show_default=True,
        metavar="HOST:PORT[;...]",
        help="The name servers of the cluster; also $NAMESRV_ADDR.",
    ),
    click.option(
        "--timeout",
        default="3s",
        show_default=True,
        metavar="DURATION",
        help="How long to wait for an answer.",
    ),
    click.option("--access-key", default="", metavar="NAME", help="The account that signs."),
    click.option(
        "--secret-key",
        default="",
        metavar="TEXT",
        envvar="FAKEMQ_SECRET_KEY",
        help="Its secret; also $FAKEMQ_SECRET_KEY, which no process list shows.",
    ),
    click.option(
        "--security-token", default="", metavar="TEXT", envvar="FAKEMQ_SECURITY_TOKEN", hidden=True
    ),
    click.option("--tls", is_flag=True, help="Connect by TLS."),
    click.option("--tls-ca-file", default="", metavar="PEM", help="Trust only these authorities."),
    click.option(
        "--tls-check-host/--no-tls-check-host",
        default=True,
        help="Whether the certificate must be for its host.  [default: checked with --tls-ca-file]",
    ),
    click.option("--tls-cert-file", default="", metavar="PEM", help="A certificate to show."),
    click.option("--tls-key-file", default="", metavar="PEM", help="Its private key."),
    click.option(
        "--tls-key-password", default="", metavar="TEXT", envvar="FAKEMQ_TLS_KEY_PASSWORD",
        help="The key's password; also $FAKEMQ_TLS_KEY_PASSWORD.",
    ),
)  # fmt: skip
_CLIENT_NAMES = (
    *("access_key", "secret_key", "security_token", "tls", "tls_ca_file", "tls_check_host"),
    *("tls_cert_file", "tls_key_file", "tls_key_password"),
)

_DEFAULTS: dict[str, Any] = {
    "namesrv": DEFAULT_NAMESRV,
    **dict.fromkeys(_CLIENT_NAMES, ""),
    "tls": False,
    "tls_check_host": True,
}


def opened(given: dict[str, Any]) -> RunningCluster:
    """Take the options of a connection out of a command's options, and return the cluster."""
    from fakemq.clock.durations import duration_ms
    from fakemq.errors import ConfigError

    timeout_ms = duration_ms(given.pop("timeout"), name="timeout")
    if timeout_ms < 1:
        raise ConfigError(f"timeout={timeout_ms} ms: expected over 0")
    options: Any = {name: given.pop(name) for name in _CLIENT_NAMES}
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
            text = str(error)
            if error.addr in cluster.client.instance.name_servers.addrs:
                text += f": no name server answers there, {another}"
            raise MQClientError(text) from None


def completes(names: Callable[[RunningCluster], Iterable[str]]) -> Complete:
    """Return what completes an argument in a shell with names that a running cluster has.

    Without a cluster that answers at once there is nothing to complete with, and no error.
    """

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        from fakemq.errors import FakemqError

        try:
            with closing(opened({**_DEFAULTS, **_given(ctx), "timeout": "500ms"})) as cluster:
                return [name for name in names(cluster) if name.startswith(incomplete)]
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
    return {name: ctx.params[name] for name in _DEFAULTS if ctx.params.get(name) is not None}


def connection_options(function: F) -> F:
    """Add the options that say which cluster is asked, and how."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def asks_cluster(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a connection; give the function the `RunningCluster` as ``cluster``."""

    @wraps(function)
    def call(**given: Any) -> None:
        with connected(given) as cluster:
            function(cluster=cluster, **given)

    return connection_options(call)
