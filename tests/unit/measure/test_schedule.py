from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import Counter
from itertools import permutations

import numpy as np

from patchperf.measure.schedule import LAYOUT_BYTES, LAYOUT_VARIABLE, environment, order, padding


def rounds(slots, replicates):
    return [[slot.solution for slot in slots if slot.replicate == replicate] for replicate in range(replicates)]


def test_every_round_holds_every_solution_once_before_the_next_begins():
    slots = order(["c", "a", "b", "d"], 5, 1, "x__y-1")
    assert [slot.order for slot in slots] == list(range(20))
    assert [slot.replicate for slot in slots] == sorted([0, 1, 2, 3, 4] * 4)
    assert all(sorted(solutions) == ["a", "b", "c", "d"] for solutions in rounds(slots, 5))


def test_the_order_follows_from_the_seed_the_instance_and_the_set_of_solutions_alone():
    slots = order(["a", "b", "c"], 5, 1, "x__y-1")
    assert order(["c", "b", "a"], 5, 1, "x__y-1") == slots
    assert order(["a", "b", "c"], 5, 2, "x__y-1") != slots
    assert order(["a", "b", "c"], 5, 1, "x__y-2") != slots


def test_a_round_sorts_the_solutions_by_the_generators_numbers():
    """Drawn here through numpy's Generator, there from the raw stream."""
    entropy = [7, int(hashlib.sha256(b"x__y-1").hexdigest(), 16)]
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))
    keys = generator.integers(0, 2**64, size=(5, 3), dtype=np.uint64)
    expected = [[list("abc")[index] for index in np.argsort(row)] for row in keys]
    assert rounds(order(["a", "b", "c"], 5, 7, "x__y-1"), 5) == expected


def test_all_orders_of_a_round_are_about_equally_frequent():
    """Chi-squared with 5 degrees of freedom: 20.5 is the 99.9 % point, and the seeds are fixed."""
    slots = [order(["a", "b", "c"], 6, seed, "x__y-1") for seed in range(500)]
    seen = Counter(tuple(solutions) for case in slots for solutions in rounds(case, 6))
    assert set(seen) == set(permutations("abc"))
    assert sum((count - 500) ** 2 / 500 for count in seen.values()) < 20.5


def test_a_round_has_one_hash_seed_and_one_layout_and_the_next_has_others():
    slots = order(["a", "b", "c"], 5, 1, "x__y-1")
    conditions = [{(slot.hash_seed, slot.padding) for slot in slots if slot.replicate == g} for g in range(5)]
    assert all(len(condition) == 1 for condition in conditions)
    assert [seed for condition in conditions for seed, _ in condition] == [0, 1, 2, 3, 4]
    assert len({length for condition in conditions for _, length in condition}) == 5


def test_layouts_are_the_same_list_for_every_case_of_a_study():
    first, second = order(["a"], 5, 1, "x__y-1"), order(["b", "c"], 5, 1, "z__z-2")
    assert {slot.padding for slot in first} == {slot.padding for slot in second}
    assert [padding(1, layout) for layout in range(5)] != [padding(2, layout) for layout in range(5)]
    assert all(LAYOUT_BYTES <= padding(seed, 3) < 2 * LAYOUT_BYTES for seed in range(50))


def test_an_environment_is_that_of_the_case_with_the_rounds_seed_and_layout():
    base = {"Z": "1", "PATH": "/bin", "LC_ALL": "C", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "random"}
    whole = environment(base, 3, 5000)
    layout = {name: value for name, value in whole.items() if name.startswith(LAYOUT_VARIABLE)}
    others = {name: value for name, value in whole.items() if name not in layout}
    assert others == {"LC_ALL": "C", "PATH": "/bin", "PYTHONHASHSEED": "3", "Z": "1"}
    assert sum(map(len, layout.values())) == 5000
    assert list(whole) == sorted(whole)
    assert environment(base, 3, 5000) == whole


def test_a_layout_is_made_of_values_that_go_into_the_interpreters_pools_of_many_sizes():
    """An object of bytes has a header of 33; the pools are 16 bytes apart."""
    layouts = [environment({}, 0, padding(1, layout)) for layout in range(5)]
    sizes = [sorted((33 + len(value)) // 16 for value in layout.values() if set(value) == {"x"}) for layout in layouts]
    assert all(len(set(pools)) >= 8 and max(pools) <= 512 // 16 for pools in sizes)
    assert len(set(map(tuple, sizes))) == 5


ORDERS = """
class Small:
    __slots__ = ("number",)
    def __init__(self, number):
        self.number = number
print([one.number for one in {Small(number) for number in range(12)}])
print([kind.__name__ for kind in {type(f"C{number}", (), {}) for number in range(8)}])
"""


def test_layouts_change_the_order_of_sets_of_small_and_large_objects():
    """Address randomisation is off, and the hash seed is the same: what is left are the layouts."""
    told = [
        subprocess.run(
            ["setarch", "-R", sys.executable, "-I", "-S", "-c", ORDERS],
            env=environment({}, 0, padding(1, layout)) | {"PYTHONHASHSEED": "0"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for layout in [*range(8), *range(8)]
    ]
    assert told[:8] == told[8:]
    small, large = zip(*told, strict=True)
    assert len(set(small)) > 1
    assert len(set(large)) > 1
