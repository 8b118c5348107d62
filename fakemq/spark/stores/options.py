"""The options of ``format("rocketmq-store")``."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import msgspec

from fakemq.errors import ConfigError
from fakemq.spark.options import Options

NAME = "rocketmq-store"

LOG, CONSUME_QUEUE, INDEX = "log", "consumequeue", "index"
VIEWS = (LOG, CONSUME_QUEUE, INDEX)

PERMISSIVE, DROPMALFORMED, FAILFAST = "PERMISSIVE", "DROPMALFORMED", "FAILFAST"
MODES = (PERMISSIVE, DROPMALFORMED, FAILFAST)

KNOWN = (
    "path",
    "paths",
    "view",
    "mode",
    "includeProperties",
    "topic",
    "startingTimestamp",
    "endingTimestamp",
    "columnNameOfCorruptRecord",
    "maxPartitionBytes",
)

_MAX_PARTITION_BYTES = 128 << 20
"""As ``spark.sql.files.maxPartitionBytes``."""
_LEAST_PARTITION_BYTES = 1 << 20


class StoreOptions(msgspec.Struct, frozen=True):
    """What to read of which directories, and how; goes to Spark's workers as it is."""

    paths: tuple[str, ...]
    view: str
    mode: str
    include_properties: bool
    topics: frozenset[str]
    """Empty for all."""
    starting_ms: int | None
    ending_ms: int | None
    """Store times from the first to before the last, in milliseconds since the epoch."""
    damage_column: str
    max_partition_bytes: int


def store_options(options: Options) -> StoreOptions:
    """The options of a read, but for its paths checked; ConfigError names what cannot be."""
    options.require_known(KNOWN)
    view = _one_of(options, "view", VIEWS)
    if view != LOG:
        for name in ("includeProperties", "startingTimestamp", "endingTimestamp"):
            if options.text(name) is not None:
                raise ConfigError(f"{NAME}: option {name} goes with view {LOG}, not with {view}")
    if view == INDEX and options.text("topic") is not None:
        raise ConfigError(f"{NAME}: option topic does not go with view index, which has no topics")
    topics = [one.strip() for one in (options.text("topic") or "").split(",")]
    return StoreOptions(
        paths=_paths(options),
        view=view,
        mode=_one_of(options, "mode", MODES),
        include_properties=options.flag("includeProperties", False),
        topics=frozenset(one for one in topics if one),
        starting_ms=options.number("startingTimestamp", None),
        ending_ms=options.number("endingTimestamp", None),
        damage_column=options.text("columnNameOfCorruptRecord") or "damage",
        max_partition_bytes=options.number(
            "maxPartitionBytes", _MAX_PARTITION_BYTES, least=_LEAST_PARTITION_BYTES
        ),
    )


def _one_of(options: Options, name: str, values: tuple[str, ...]) -> str:
    """The value of an option, without regard to case; the first is the default."""
    text = options.text(name)
    if text is None:
        return values[0]
    found = [one for one in values if one.lower() == text.lower()]
    if not found:
        raise options.bad(name, " or ".join((", ".join(values[:-1]), values[-1])))
    return found[0]


def _paths(options: Options) -> tuple[str, ...]:
    """What was given to ``load``: one path comes as ``path``, several as JSON in ``paths``."""
    single, several = options.text("path"), options.text("paths")
    given = [] if single is None else [single]
    if several is not None:
        try:
            given += msgspec.json.decode(several, type=list[str])
        except msgspec.MsgspecError:
            wanted = 'a JSON list such as ["/store/a", "/store/b"]'
            raise options.bad("paths", wanted) from None
    if not given:
        raise ConfigError(f'{NAME}: a directory is missing: .load("DIR")')
    return tuple(_local(one) for one in given)


def _local(path: str) -> str:
    """A path of the local file system, which may be written as a ``file:`` URI."""
    scheme, colon, _ = path.partition(":")
    if not colon or "/" in scheme:
        return path
    if scheme.lower() != "file":
        raise ConfigError(
            f"{NAME}: {path}: only local directories can be read, as a path or a file: URI;"
            " mount or copy the store to where every worker sees it"
        )
    return unquote(urlsplit(path).path)
