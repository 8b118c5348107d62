"""The options of a cluster: one table, from which every place that lists them is made.

- `option_types.ClusterOptions` types the arguments of ``Cluster``, ``AsyncCluster`` and
  `spec.cluster_spec`.
- The command line (`fakemq.cli`) and the pytest plugin (`fakemq.fixtures.options`) add an option
  for each row that is theirs.
- help() and editors show the signature and the docstring that `shows_options` adds to a class.
- docs/options.md prints the table.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypeVar

from fakemq.errors import ArgumentError, did_you_mean

# The pytest plugin imports this file in every run of pytest, so it imports as little as possible.
if TYPE_CHECKING:
    from inspect import Signature

    from fakemq.config.option_types import ClusterOptions

C = TypeVar("C", bound=type)
Kind: TypeAlias = Literal["text", "number", "flag", "list"]


class Option(NamedTuple):
    """One option of a cluster."""

    name: str
    """The name of the keyword argument; pytest's option is this with ``rocketmq_`` before it."""
    kind: Kind
    """The type on the command line and in ini files; for Python it is in `option_types`."""
    default: object
    """The value if the option is not set; None if the code chooses one."""
    help: str
    metavar: str | None = None
    chosen: str = ""
    """A description of the command line's value for a default of None."""
    flag: str = ""
    """The command line's spelling if it is not ``--name``; "-" if the command line has none."""
    env: str | None = None
    """The environment variable that the command line reads the option from."""
    in_pytest: bool = True
    """Whether the pytest plugin has it as an option and in its ini file."""

    @property
    def spellings(self) -> tuple[str, ...]:
        """The option on the command line: one spelling, or a letter and the long one."""
        long = "--" + self.name.replace("_", "-")
        return (self.flag, long) if len(self.flag) == len("-c") else (self.flag or long,)


OPTIONS = (
    Option("listen", "text", "127.0.0.1", "Address to listen on."),
    Option(
        *("advertise", "text", None, "Address that clients are given."),
        metavar="HOST",
        chosen="the one listened on",
        in_pytest=False,
    ),
    Option(
        *("namesrv_port", "number", None),
        "Port of the first name server; the others follow. 0 takes free ones.",
        metavar="PORT",
        chosen="9876",
    ),
    Option("namesrvs", "number", 1, "Number of name servers."),
    Option(
        *("broker_port", "number", None),
        "Port of the first broker; the others are 20 apart. Port-2 (VIP) and port+1 (HA) are taken"
        " too. 0 takes free ones.",
        metavar="PORT",
        chosen="10911",
    ),
    Option("masters", "number", 1, "Number of masters: broker-a, broker-b, ..."),
    Option("slaves", "number", 0, "Number of slaves of each master."),
    Option(
        *("reference", "text", None),
        "The release of RocketMQ that name servers and brokers behave as.",
        metavar="4.9.7|5.3.2|5.5.0",
        chosen="4.9.7; 5.5.0 with a gRPC port or controllers",
    ),
    Option(
        *("controllers", "number", 0),
        "Number of controllers, which elect the masters of groups of brokers in controller mode;"
        " see docs/controllers.md. Ports from 9870 on the command line, without those of"
        " name servers, else free ones.",
    ),
    Option(
        *("grpc", "number", None),
        "Port for RocketMQ 5's gRPC clients, plain and TLS; see docs/grpc.md. 0 takes a free one,"
        " and so does True in Python.",
        metavar="PORT",
        chosen="no such port",
        flag="--grpc-port",
    ),
    Option(
        *("proxy_remoting", "number", None),
        "Port of the proxy for clients that speak remoting, as 8080 of RocketMQ's proxy; see"
        " docs/proxy.md. The proxy has a gRPC port, too. 0 takes a free one, and so does True in"
        " Python.",
        metavar="PORT",
        chosen="no such port",
        flag="--proxy-remoting-port",
    ),
    Option(
        *("proxy_protocol_from", "list", ()),
        "Address or network of a load balancer: its PROXY headers are believed at the gRPC port;"
        " those of other peers end the connection. May be repeated.",
        metavar="ADDRESS[/BITS]",
        chosen="no address",
        in_pytest=False,
    ),
    Option(
        *("store", "text", None, "Keep everything in memory, or each broker's in DIR/<broker>."),
        metavar="memory|DIR",
        chosen="memory",
    ),
    Option(
        *("store_from", "text", None),
        "Begin with a copy of the stores in DIR, fakemq's or Java's; they are not changed. DIR of"
        " one broker may be DIR,LOG,LOG with the folders of its commit log.",
        metavar="DIR",
    ),
    Option(
        *("memory_limit", "text", "1GiB"),
        "Size limit of a store in memory; beyond it sends are refused.",
        metavar="SIZE",
    ),
    Option(
        *(
            "role",
            "text",
            None,
            "Whether masters wait for their slaves. A broker with brokerRole=SLAVE stays one.",
        ),
        metavar="ASYNC_MASTER|SYNC_MASTER",
        chosen="ASYNC_MASTER",
    ),
    Option(
        *("flush", "text", None, "Whether a send waits for the disk."),
        metavar="ASYNC_FLUSH|SYNC_FLUSH",
        chosen="ASYNC_FLUSH",
    ),
    Option(
        *("clock", "text", "real", "A frozen clock moves only on command."),
        metavar="real|frozen",
    ),
    Option(
        *("start_at", "text", None, "Start time of the clock; UTC without an offset."),
        metavar="ISO8601",
        chosen="now",
    ),
    Option("seed", "number", None, "Fixes every random choice.", metavar="N"),
    Option(
        *("topics", "list", ()),
        "Create a topic at the start. May be repeated. TYPE is its message type, such as FIFO, at"
        " 5.5.0.",
        metavar="NAME:QUEUES[:TYPE]",
        flag="--topic",
    ),
    Option(
        *("control_port", "number", None),
        "Steer the cluster over HTTP and JSON at this port; see docs/control.md. 0 takes a free"
        " one.",
        metavar="PORT",
        chosen="no such port",
        in_pytest=False,
    ),
    Option(
        *("control_listen", "text", "127.0.0.1"),
        "Address of the control port, whatever --listen says.",
        metavar="ADDRESS",
        in_pytest=False,
    ),
    Option(
        *("control_token", "text", None),
        "Requests to the control port must carry it, as Authorization: Bearer TOKEN. Give it in the"
        " environment, as FAKEMQ_CONTROL_TOKEN, to hide it from other users.",
        metavar="TOKEN",
        env="FAKEMQ_CONTROL_TOKEN",
        in_pytest=False,
    ),
    Option(
        *("ready_file", "text", None, "Written, as JSON, when all ports are open."),
        metavar="PATH",
        in_pytest=False,
    ),
    Option(
        *("config", "list", ()),
        "RocketMQ's own broker config. One is for every broker, several are for one each, in order."
        " Options given here beat it.",
        metavar="FILE.properties",
        flag="-c",
        in_pytest=False,
    ),
    Option(
        *("acl", "text", None, "Accounts and permissions, as in plain_acl.yml; see docs/acl.md."),
        metavar="FILE",
        chosen="no access control",
    ),
    Option(
        *("tls", "text", None, "Whether name servers and brokers speak TLS; see docs/tls.md."),
        metavar="disabled|permissive|enforcing",
        chosen="permissive",
    ),
    Option(
        *("tls_config", "text", None, "Certificates and keys, as in tls.properties."),
        metavar="FILE",
        chosen="a throw-away authority",
    ),
    Option(
        *("strict", "flag", False),
        "An unknown key in a config or a file with accounts is an error, and so is one without"
        " effect; see docs/config.md.",
        in_pytest=False,
    ),
    Option(
        *("journal", "text", None, "Write every event to this file."),
        metavar="FILE",
        in_pytest=False,
    ),
    Option(
        *("ram_size", "text", None),
        "RAM size by which brokers judge what is still in memory.",
        metavar="SIZE",
        chosen="the machine's",
        flag="-",
        in_pytest=False,
    ),
)


DEFAULTS: ClusterOptions = {one.name: one.default for one in OPTIONS}  # type: ignore[assignment]  # a test compares the table with the types


def require_options(options: Iterable[str], owner: str = "a cluster") -> None:
    """Raise TypeError, as for any unknown argument, for an option that clusters do not have."""
    for name in options:
        if name not in DEFAULTS:
            raise ArgumentError(f"{owner} has no option {name!r}{did_you_mean(name, DEFAULTS)}")


def shows_options(cluster: C) -> C:
    """Decorate a class that takes ``**options: Unpack[ClusterOptions]``."""
    setattr(cluster, "__signature__", _Signature())  # noqa: B010 - mypy knows no such attribute
    setattr(cluster, "__doc__", _Doc(cluster.__doc__ or ""))  # noqa: B010 - it is made when read
    return cluster


class _Text(str):
    """The text of an annotation, shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class _Signature:
    """The ``__signature__`` of the class, made when it is asked for."""

    def __get__(self, instance: object, owner: type) -> Signature:
        if instance is not None:
            raise AttributeError("__signature__")
        from inspect import Parameter, Signature

        from fakemq.config.option_types import ClusterOptions

        defaults = dict(DEFAULTS)
        return Signature(
            [
                Parameter(
                    name,
                    Parameter.KEYWORD_ONLY,
                    default=defaults[name],
                    annotation=_Text(hint.__forward_arg__),
                )
                for name, hint in ClusterOptions.__annotations__.items()
            ]
        )


class _Doc:
    """The ``__doc__`` of the class: as it is written, and what its options mean."""

    def __init__(self, written: str) -> None:
        self._written = written

    def __get__(self, instance: object, owner: type) -> str:
        import textwrap
        from inspect import cleandoc

        lines = [cleandoc(self._written), "", "Options:", ""]
        for one in OPTIONS:
            default = repr(one.default) if one.default is not None else one.chosen or "None"
            lines.append(f"``{one.name}`` ({default}):")
            lines += textwrap.wrap(one.help, 90, initial_indent="    ", subsequent_indent="    ")
        return "\n".join(lines)
