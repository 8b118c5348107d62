"""Acknowledgements, deliveries, offsets and faults in a cluster's journal.

Spark reads the file of ``--journal``, whatever its size; `fakemq.journal.file` defines its format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as sf

from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.topics import RETRY_PREFIX
from fakemq.spark.audit import files
from fakemq.spark.audit.inputs import NUMBERED

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_LINE = """
    seq long, at_ms long, node string, kind string, cause long,
    fields struct<
        topic: string, queue_id: int, queue_offset: long, phy_offset: long, msg_id: string,
        keys: string, size_bytes: int, response_code: int, offsets: array<bigint>,
        next_offset: long, `group`: string, peer: string, offset: long, how: string,
        client_id: string, kind: string, fault: int, what: string, `on`: string,
        log_offset: long, log_bytes: long, file: string,
        cut_bytes: long, why: string, min_phy_offset: long,
        end_offset: long, role: string, epoch: int>
"""
_KINDS = (
    *("MessageChecked", "LogAppended", "RequestHandled", "Delivered", "OffsetCommitted"),
    *("FaultHit", "FaultPlaced", "NodeStopped", "NodeStarted", "UnsyncedLost", "StoreRepaired"),
    *("MemberChanged", "FilesExpired", "ClockMoved", "SnapshotRestored"),
    *("RoleChanged", "LogTruncated"),
)
_STATUS = {
    ResponseCode.SUCCESS: "SEND_OK",
    ResponseCode.FLUSH_DISK_TIMEOUT: "FLUSH_DISK_TIMEOUT",
    ResponseCode.FLUSH_SLAVE_TIMEOUT: "FLUSH_SLAVE_TIMEOUT",
    ResponseCode.SLAVE_NOT_AVAILABLE: "SLAVE_NOT_AVAILABLE",
}
"""Responses that mean that the message is stored."""


def broker_of(node: str) -> Column:
    """Return the broker of a node, as `fakemq.spark.audit.inputs.split_name` does."""
    return sf.regexp_replace(node, NUMBERED, "$1")


class JournalTables:
    """The entries of one file, read once and cached by Spark during an audit."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        needed = ("seq", "at_ms", "node", "kind")
        read = files.read_rows(spark, path, _LINE, what="entries of a journal", needed=needed)
        is_known = sf.col("kind").isin(*_KINDS)
        kept = read.frame.where(is_known | ~read.is_usable).localCheckpoint(eager=False)
        self.rows = read._replace(frame=kept)
        self.entries = self.rows.usable.where(is_known)

    def _of(self, kind: str, *fields: str) -> DataFrame:
        return self.entries.where(sf.col("kind") == kind).select(
            *("seq", "at_ms", "node", "cause"),
            broker_of("node").alias("broker"),
            *(sf.col(f"fields.{field}").alias(field) for field in fields),
        )

    def hits(self) -> DataFrame:
        """Return each effect of a fault, with the ``request`` it hit, if any."""
        hit = self._of("FaultHit", "fault", "what", "on")
        # A fault may hit a request that another fault hit before.
        before = hit.select(sf.col("seq").alias("cause"), sf.col("cause").alias("earlier"))
        return hit.join(before, "cause", "left").select(
            *("seq", "at_ms", "node", "broker", "fault", "what", "on"),
            sf.coalesce("earlier", "cause").alias("request"),
        )

    def appended(self) -> DataFrame:
        """Return every record that a master appended."""
        return self._of(
            "LogAppended",
            *("topic", "queue_id", "queue_offset", "phy_offset", "msg_id", "keys", "size_bytes"),
        ).withColumnRenamed("cause", "request")

    def acks(self) -> DataFrame:
        """Return the sends that were answered with a code for a stored message."""
        checked = (
            self._of("MessageChecked", "topic", "queue_id")
            .where(~sf.col("topic").startswith(RETRY_PREFIX))
            .select(sf.col("cause").alias("request"), "topic", "queue_id")
            .dropDuplicates(["request"])
        )
        appended = self.appended().select(
            *("request", "seq", "broker", "phy_offset", "queue_offset"),
            *("msg_id", "keys", "size_bytes"),
        )
        answered = self._of("RequestHandled", "response_code").where(
            sf.col("response_code").isin(*map(int, _STATUS))
        )
        hit = self.hits().select(sf.col("seq").alias("cause"), "request")
        answered = answered.join(hit, "cause", "left").select(
            sf.coalesce("request", "cause").alias("request"), "at_ms", "response_code"
        )
        status = sf.create_map(
            *(sf.lit(one) for code, name in _STATUS.items() for one in (int(code), name))
        )
        return (
            appended.join(checked, "request")
            .join(answered, "request")
            .select(
                *("msg_id", "topic", "broker", "queue_id", "queue_offset", "phy_offset"),
                *("at_ms", "seq", "request", "size_bytes", "keys"),
                status[sf.col("response_code")].alias("status"),
            )
        )

    def deliveries(self) -> DataFrame:
        """Return each message of each sent pull response, with the record at its place then."""
        place = ["broker", "topic", "queue_id", "queue_offset"]
        delivered = (
            self._of("Delivered", "topic", "queue_id", "offsets", "group", "peer")
            .select("*", sf.explode("offsets").alias("queue_offset"))
            .drop("offsets", "cause")
        )
        # A crash may have removed a record, and another record may be at its place since. Of two
        # masters at a time, each delivers what it has appended itself.
        appended = self.appended().withColumnsRenamed({"seq": "appended_seq", "node": "its_node"})
        appended = appended.select(*place, "msg_id", "appended_seq", "its_node")
        order = sf.struct((sf.col("its_node") == sf.col("node")).alias("own"), "appended_seq")
        by_then = sf.when(sf.col("appended_seq") < sf.col("seq"), order)
        newest = sf.max_by("msg_id", by_then).alias("msg_id")
        return (
            delivered.join(appended, place, "left")
            .groupBy(*place, "seq", "at_ms", "group", "peer")
            .agg(newest)
            .withColumn("msg_id", sf.nullif("msg_id", sf.lit("")))
        )

    def commits(self) -> DataFrame:
        """Return every committed offset, with the one that it replaced as ``from_offset``."""
        queue = Window.partitionBy("broker", "group", "topic", "queue_id").orderBy("seq")
        return self._of("OffsetCommitted", "group", "topic", "queue_id", "offset").withColumn(
            "from_offset", sf.lag("offset").over(queue)
        )

    def happenings(self) -> DataFrame:
        """Return events about nodes and groups: `fakemq.spark.audit.causes` uses them."""
        return self.entries.where(
            sf.col("kind").isin(
                *("FaultHit", "NodeStopped", "NodeStarted", "UnsyncedLost", "StoreRepaired"),
                *("MemberChanged", "FilesExpired", "SnapshotRestored"),
                *("RoleChanged", "LogTruncated"),
            )
            | ((sf.col("kind") == "ClockMoved") & (sf.col("fields.how") == "reset"))
        )
