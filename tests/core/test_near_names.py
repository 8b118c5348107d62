"""Names of groups that are almost like others."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

import fakemq
from fakemq.core.cluster import ClusterCore
from fakemq.core.near_names import check_group


def test_group_exists_by_its_settings_its_members_or_its_offsets() -> None:
    with fakemq.Cluster(clock="frozen", topics={"orders": 1}) as mq:
        mq.group("billing-1").set(retry_max_times=3)
        mq.consumer(group="billing-2", subscribe="orders")
        mq.inspect(lambda core: core.broker("broker-a").offsets.commit("billing-3", "orders", 0, 1))
        for number in (1, 2, 3):
            assert mq.group(f"billing-{number}").lag("orders") == 0
        for mistyped in ("biling-1", "billingg-2", "billnig-3"):
            with pytest.raises(LookupError, match=f"no group '{mistyped}'; did you mean billing-"):
                mq.group(mistyped).lag("orders")


def test_group_that_exists_costs_no_look_at_all_offsets() -> None:
    def reads(core: ClusterCore) -> int:
        offsets = core.broker("broker-a").offsets
        snapshot = Mock(wraps=offsets.snapshot)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(offsets, "snapshot", snapshot)
            check_group(core, "billing")
        return snapshot.call_count

    with fakemq.Cluster() as mq:
        mq.group("billing").set(retry_max_times=3)
        assert mq.inspect(reads) == 0
