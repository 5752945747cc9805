"""Which solution runs when, with which hash seed and which layout: complete blocks in a reproducible random order."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numpy.random import PCG64, SeedSequence

LAYOUT_VARIABLE = "PATCHPERF_LAYOUT"
LAYOUT_BYTES = 4096
"""Paddings lie between this and twice as much: an environment's size moves the stack within its page."""

PIECE_BYTES = 480
"""The values that a padding is made of are shorter: CPython keeps objects of up to 512 bytes in pools by their size."""


@dataclass(frozen=True)
class Slot:
    """One replicate: its position in the case, its round, its solution, and the round's conditions.

    ``replicate`` is the round (0-based) and also the hash seed's and the layout's number; ``padding`` is the length in
    bytes of what makes the layout.
    """

    order: int
    replicate: int
    solution: str
    hash_seed: int
    padding: int


def order(solutions: Sequence[str], replicates: int, seed: int, instance_id: str) -> tuple[Slot, ...]:
    """All replicates of a case in the order they run.

    Every round holds every solution once, in a random permutation of its own. The same seed, instance and set of
    solutions give the same order with any version of numpy: only PCG64's raw stream is used, which never changes.
    """
    names = sorted(solutions)
    stream = PCG64(SeedSequence([seed, int(hashlib.sha256(instance_id.encode()).hexdigest(), 16)]))
    slots: list[Slot] = []
    for replicate in range(replicates):
        keys = dict(zip(names, map(int, stream.random_raw(len(names))), strict=True))
        for solution in sorted(names, key=keys.__getitem__):
            slots.append(Slot(len(slots), replicate, solution, replicate, padding(seed, replicate)))
    return tuple(slots)


def padding(seed: int, layout: int) -> int:
    """Length in bytes of layout number ``layout``: the same list for every solution and case of a study."""
    return LAYOUT_BYTES + int(PCG64(SeedSequence([seed, layout])).random_raw()) % LAYOUT_BYTES


def environment(base: Mapping[str, str], hash_seed: int, padding: int) -> dict[str, str]:
    """The whole environment of one process: the same bytes for every solution of a round.

    Bytecode caches stay on: the trial run fills them, so that no replicate compiles.
    """
    kept = {name: value for name, value in base.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return dict(sorted((kept | _layout(padding) | {"PYTHONHASHSEED": str(hash_seed)}).items()))


def _layout(padding: int) -> dict[str, str]:
    """Variables whose values have ``padding`` bytes in all.

    One long value would move the stack and large objects alone. The many short ones, of lengths that depend on the
    padding, also move what the interpreter puts into its pools of small objects after them, and with it the order of
    sets whose elements hash by their address.
    """
    stream = PCG64(SeedSequence(padding))
    lengths: list[int] = []
    while (left := padding - sum(lengths)) > 0:
        lengths.append(min(left, 1 + int(stream.random_raw()) % PIECE_BYTES))
    return {f"{LAYOUT_VARIABLE}_{number:02d}": "x" * length for number, length in enumerate(lengths)}
