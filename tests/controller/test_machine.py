"""Whatever is asked, in any order: epochs grow, and a master is one of its group and its set."""

from __future__ import annotations

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fakemq.controller.events import ControllerEvent, ElectMasterEvent
from fakemq.controller.state import State, SyncStateInfo, apply
from tests.support.replicas_lab import GROUP, ReplicasLab, Said

IDS = st.integers(1, 5)


class Controllers(RuleBasedStateMachine):
    """A group whose replicas live and die, with all that may be asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.machine = ReplicasLab(replicas=0)
        self.before = SyncStateInfo("c")

    @property
    def sync(self) -> SyncStateInfo:
        return self.machine.state.sync_state_infos.get(GROUP, SyncStateInfo("c"))

    @property
    def replicas(self) -> set[int]:
        info = self.machine.state.replica_infos.get(GROUP)
        return set() if info is None else set(info.replicas)

    @rule()
    def join(self) -> None:
        broker_id = self.machine.next_id
        assert broker_id is not None
        self.machine.apply_id(broker_id)
        self.machine.alive.ids[broker_id] = Said()

    @rule(broker_id=IDS)
    def die(self, broker_id: int) -> None:
        self.machine.alive.ids.pop(broker_id, None)

    @rule(broker_id=IDS, offset=st.integers(0, 3), epoch=st.integers(0, 3))
    def beat(self, broker_id: int, offset: int, epoch: int) -> None:
        if broker_id in self.replicas:
            self.machine.alive.ids[broker_id] = Said(epoch, offset)

    @rule(broker_id=IDS, designate=st.booleans())
    def ask(self, broker_id: int, designate: bool) -> None:
        if broker_id in self.replicas:  # the first election takes any number, as Java does
            self.elect(broker_id, designate)

    @precondition(lambda self: self.sync.master_epoch > 0)
    @rule()
    def elect_by_controller(self) -> None:
        self.elect(-1, False)

    def elect(self, broker_id: int, designate: bool) -> None:
        last, first = self.sync.sync_state_set, self.sync.master_epoch == 0
        decision = self.machine.elect(broker_id, designate=designate)
        for event in decision.events:
            assert isinstance(event, ElectMasterEvent)
            if event.new_master_broker_id is not None:
                assert first or event.new_master_broker_id in last

    @rule(ids=st.lists(IDS, unique=True), stale=st.booleans())
    def alter(self, ids: list[int], stale: bool) -> None:
        sync = self.sync
        self.machine.alter(
            ids,
            sync.sync_state_set_epoch - stale,
            master=sync.master_broker_id or 1,
            master_epoch=sync.master_epoch,
        )

    @rule(ids=st.lists(IDS, min_size=1, unique=True))
    def clean(self, ids: list[int]) -> None:
        self.machine.clean(";".join(map(str, ids)))
        if self.machine.state.group(GROUP) is None:
            self.machine.state = State()  # such a group begins anew with the next id
            self.before = SyncStateInfo("c")

    @rule()
    def remember(self) -> None:
        """Write the log anew: what is read back is what was there."""
        state = State()
        for name in self.machine.state.replica_infos:
            line = msgspec.json.encode(self.machine.state.kept(name))
            apply(state, msgspec.json.decode(line, type=type(self.machine.state.kept(name))))
        assert state == self.machine.state

    @invariant()
    def epochs_grow(self) -> None:
        sync, before = self.sync, self.before
        assert sync.master_epoch >= before.master_epoch
        assert sync.sync_state_set_epoch >= before.sync_state_set_epoch
        if sync.master_broker_id not in (None, before.master_broker_id):
            assert sync.master_epoch > before.master_epoch
        if not sync.sync_state_set <= before.sync_state_set:
            assert sync.sync_state_set_epoch > before.sync_state_set_epoch
        self.before = msgspec.structs.replace(sync)

    @invariant()
    def the_set_is_of_the_group(self) -> None:
        assert self.sync.sync_state_set <= self.replicas
        master = self.sync.master_broker_id
        # A dead master may be cleaned; it stays recorded until the next election.
        if master in self.replicas:
            assert master in self.sync.sync_state_set


TestControllers = Controllers.TestCase
TestControllers.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)

assert issubclass(ElectMasterEvent, ControllerEvent)
