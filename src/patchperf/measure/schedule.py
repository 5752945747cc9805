"""Which solution runs when, with which hash seed and which layout: complete blocks in a reproducible random order."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numpy.random import PCG64, SeedSequence

LAYOUT_VARIABLE = "PATCHPERF_LAYOUT"
LAYOUT_BYTES = 4096
"""Paddings lie below this: the stack's offset within a page is what an environment's size moves."""


@dataclass(frozen=True)
class Slot:
    """One replicate: its position in the case, its round, its solution, and the round's conditions.

    ``replicate`` is the round (0-based) and also the hash seed's and the layout's number; ``padding`` is the length in
    bytes of the variable that makes the layout.
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
    return int(PCG64(SeedSequence([seed, layout])).random_raw()) % LAYOUT_BYTES


def environment(base: Mapping[str, str], hash_seed: int, padding: int) -> dict[str, str]:
    """The whole environment of one process: the same bytes for every solution of a round.

    Bytecode caches stay on: the trial run fills them, so that no replicate compiles.
    """
    fixed = {
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONHASHSEED": str(hash_seed),
        LAYOUT_VARIABLE: "x" * padding,
    }
    whole = {name: value for name, value in base.items() if name != "PYTHONDONTWRITEBYTECODE"} | fixed
    return dict(sorted(whole.items()))
