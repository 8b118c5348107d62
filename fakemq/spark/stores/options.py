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
    "storePathCommitLog",
    "startingTimestamp",
    "endingTimestamp",
    "columnNameOfCorruptRecord",
    "maxPartitionBytes",
)

_MAX_PARTITION_BYTES = 128 << 20
"""The default of ``spark.sql.files.maxPartitionBytes``."""
_LEAST_PARTITION_BYTES = 1 << 20


class StoreOptions(msgspec.Struct, frozen=True):
    """Which directories to read, and how; Spark pickles it for its workers."""

    paths: tuple[str, ...]
    log_folders: tuple[str, ...]
    """The folders of the log; empty for ``commitlog`` in the folder of the store."""
    view: str
    mode: str
    include_properties: bool
    topics: frozenset[str]
    """Empty for all topics."""
    starting_ms: int | None
    ending_ms: int | None
    """Store times in milliseconds since the epoch, from the first up to but excluding the last."""
    damage_column: str
    max_partition_bytes: int


def store_options(options: Options) -> StoreOptions:
    """Return the checked options of a read. Raise ConfigError for an invalid one."""
    options.require_known(KNOWN)
    view = _one_of(options, "view", VIEWS)
    if view != LOG:
        for name in ("includeProperties", "startingTimestamp", "endingTimestamp"):
            if options.text(name) is not None:
                raise ConfigError(f"{NAME}: option {name} needs view {LOG}, not {view}")
    if view == INDEX and options.text("topic") is not None:
        raise ConfigError(f"{NAME}: option topic: view index has no topics")
    folders = options.text("storePathCommitLog") or ""
    topics = [one.strip() for one in (options.text("topic") or "").split(",")]
    return StoreOptions(
        paths=_paths(options),
        log_folders=tuple(_local(one.strip()) for one in folders.split(",") if one.strip()),
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
    """Return the value of an option, compared without case; the first value is the default."""
    text = options.text(name)
    if text is None:
        return values[0]
    found = [one for one in values if one.lower() == text.lower()]
    if not found:
        raise options.bad(name, " or ".join((", ".join(values[:-1]), values[-1])))
    return found[0]


def _paths(options: Options) -> tuple[str, ...]:
    """Return the paths of ``load``: one path comes as ``path``, several as JSON in ``paths``."""
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
    """Return a path of the local file system; it may be given as a ``file:`` URI."""
    scheme, colon, _ = path.partition(":")
    if not colon or "/" in scheme:
        return path
    if scheme.lower() != "file":
        raise ConfigError(
            f"{NAME}: {path}: only local directories can be read, as a path or a file: URI;"
            " mount or copy the store to where every worker sees it"
        )
    return unquote(urlsplit(path).path)
