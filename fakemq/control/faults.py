"""Faults: whatever `Faults` can place, placed by its name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

import msgspec

from fakemq.control.control import Control
from fakemq.control.endpoints import Body, endpoint
from fakemq.control.results import Done, Refusal
from fakemq.errors import did_you_mean
from fakemq.handles.faults import Faults, Placing
from fakemq.handles.faults.placing import Fault
from fakemq.handles.faults.requests import GateFault


class FaultState(msgspec.Struct, frozen=True, kw_only=True):
    """A fault since the start or the last reset."""

    id: int
    what: str
    """It in words."""
    fired: int
    """How often it had its effect."""
    pending: bool
    """Whether it may still have one."""
    placed: bool
    """Whether it has not been removed."""
    waiting: int | None = None
    """How much waits now, of what lets nothing go on before it is released."""


class FaultKind(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    call: str
    """Its arguments, as Python writes them."""
    doc: str


class PlaceFault(Body):
    fault: str
    """The name of a kind, such as ``silence``; ``GET /v1/faults/kinds`` has them all."""
    args: list[object] = msgspec.field(default_factory=list)
    kwargs: dict[str, object] = msgspec.field(default_factory=dict)


def placings(faults: Faults) -> Iterator[tuple[str, Callable[..., object]]]:
    """Every method that places a fault, by name."""
    for name, member in inspect.getmembers_static(type(faults), is_placing):
        if issubclass(_returned_by(member.method), Fault):
            yield name, getattr(faults, name)


def is_placing(member: object) -> bool:
    return isinstance(member, Placing)


def _arguments(place: Callable[..., object]) -> dict[str, str]:
    """What a placing takes: names, and what Python writes behind them; keywords one by one."""
    found: dict[str, str] = {}
    for name, parameter in inspect.signature(place).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            found |= _keywords(place, str(parameter.annotation))
        else:
            found[name] = str(parameter.replace(name="_"))[1:].replace("'", "")
    return found


def _keywords(place: Callable[..., object], written: str) -> dict[str, str]:
    """The keys of the dict that ``Unpack[...]`` names, each with the type that is written there."""
    name = written.removeprefix("Unpack[").removesuffix("]")
    kind = inspect.unwrap(place).__globals__.get(name, object)
    declared = getattr(kind, "__annotations__", {})
    return {
        key: f": {getattr(value, '__forward_arg__', None) or inspect.formatannotation(value)} = ..."
        for key, value in declared.items()
    }


def _call(name: str, place: Callable[..., object]) -> str:
    """How a placing is called, as Python writes it."""
    arguments = ", ".join(name + rest for name, rest in _arguments(place).items())
    return f"{name}({arguments})"


def _returned_by(function: object) -> type:
    """The class in a method's return annotation; object if it has none or one of another module."""
    if not inspect.isfunction(function):
        return object
    written = inspect.get_annotations(function).get("return")
    found = function.__globals__.get(written) if isinstance(written, str) else written
    return found if isinstance(found, type) else object


@endpoint("GET", "/v1/faults")
def get_faults(control: Control) -> list[FaultState]:
    """Every fault since the start or the last reset, oldest first."""
    return [_state(control, fault) for fault in control.mq.faults.all()]


@endpoint("GET", "/v1/faults/kinds")
def get_fault_kinds(control: Control) -> list[FaultKind]:
    """What can be placed, with its arguments."""
    return [
        FaultKind(
            name=name,
            call=_call(name, place),
            doc=inspect.getdoc(place) or "",
        )
        for name, place in placings(control.mq.faults)
    ]


@endpoint("POST", "/v1/faults")
def place_fault(control: Control, body: PlaceFault) -> FaultState:
    """Place a fault; its id is the number that the journal calls it by."""
    there = dict(placings(control.mq.faults))
    place = there.get(body.fault)
    if place is None:
        hint = did_you_mean(body.fault, sorted(there))
        raise Refusal(400, f"there is no fault {body.fault!r}{hint}")
    call = _call(body.fault, place)
    for name in body.kwargs.keys() - _arguments(place).keys():
        raise Refusal(400, f"{body.fault} has no argument {name!r}; expected {call}")
    try:
        fault = place(*body.args, **body.kwargs)
    except TypeError as error:
        what = str(error).replace(place.__qualname__, body.fault)
        raise Refusal(400, f"{what}; expected {call}") from None
    assert isinstance(fault, Fault)
    control.placed[fault.number] = fault
    return _state(control, fault)


@endpoint("GET", "/v1/faults/{fault}")
def get_fault(control: Control, fault: str) -> FaultState:
    """One fault, and how often it had its effect."""
    return _state(control, _named(control, fault))


@endpoint("POST", "/v1/faults/{fault}/release")
def release_fault(control: Control, fault: str) -> FaultState:
    """Let go what a fault holds back; 409 where it holds nothing back."""
    found = _named(control, fault)
    release = getattr(control.as_placed(found), "release", None)
    if release is None or not found.placed:
        raise Refusal(409, f"{found!r} was not placed here to hold anything back")
    release()
    return _state(control, found)


@endpoint("DELETE", "/v1/faults/{fault}")
def remove_fault(control: Control, fault: str) -> FaultState:
    """End a fault; again does nothing."""
    found = _named(control, fault)
    found.remove()
    return _state(control, found)


@endpoint("DELETE", "/v1/faults")
def clear_faults(control: Control) -> Done:
    """End every fault; numbers go on until a reset."""
    control.mq.faults.clear()
    return Done()


def _named(control: Control, number: str) -> Fault:
    there = {str(fault.number): fault for fault in control.mq.faults.all()}
    if number not in there:
        raise Refusal(404, f"no fault {number}; there are: {', '.join(there) or 'none'}")
    return there[number]


def _state(control: Control, fault: Fault) -> FaultState:
    gate = control.as_placed(fault)
    return FaultState(
        id=fault.number,
        what=fault.what,
        fired=fault.fired,
        pending=fault.pending,
        placed=fault.placed,
        waiting=gate.waiting if isinstance(gate, GateFault) else None,
    )
