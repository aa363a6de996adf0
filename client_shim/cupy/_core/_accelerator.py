"""Which CUDA libraries routines may use: remembered, and left to the device's own choice."""

from __future__ import annotations

from collections.abc import Sequence

ACCELERATOR_CUB = 1
ACCELERATOR_CUTENSOR = 2
ACCELERATOR_CUTENSORNET = 3

_NUMBERS = {
    "cub": ACCELERATOR_CUB,
    "cutensor": ACCELERATOR_CUTENSOR,
    "cutensornet": ACCELERATOR_CUTENSORNET,
}
_chosen: dict[str, list[int]] = {"elementwise": [], "reduction": [], "routine": []}


def _choose(kind: str, accelerators: Sequence[str | int]) -> None:
    numbers = []
    for one in accelerators:
        if isinstance(one, int):
            numbers.append(one)
        elif one in _NUMBERS:
            numbers.append(_NUMBERS[one])
        else:
            raise ValueError(f"Unknown accelerator: {one}")
    _chosen[kind] = numbers


def set_elementwise_accelerators(accelerators: Sequence[str | int]) -> None:
    _choose("elementwise", accelerators)


def set_reduction_accelerators(accelerators: Sequence[str | int]) -> None:
    _choose("reduction", accelerators)


def set_routine_accelerators(accelerators: Sequence[str | int]) -> None:
    _choose("routine", accelerators)


def get_elementwise_accelerators() -> list[int]:
    return _chosen["elementwise"]


def get_reduction_accelerators() -> list[int]:
    return _chosen["reduction"]


def get_routine_accelerators() -> list[int]:
    return _chosen["routine"]
