from __future__ import annotations

import numpy as np
import pytest

from patchperf.errors import InputError
from patchperf.quality.changed_lines import changed_lines
from patchperf.quality.correctness_by_size import correctness_by_size, size_class

PATCH = """\
diff --git a/one.py b/one.py
--- a/one.py
+++ b/one.py
@@ -1,6 +1,7 @@
 first
-second
+2nd
 third
-fourth
-fifth
+4th
+5th
+extra
 sixth
diff --git a/gone.py b/gone.py
deleted file mode 100644
--- a/gone.py
+++ /dev/null
@@ -1,2 +0,0 @@
-x = 1
-y = 2
"""


def test_a_replaced_line_counts_once():
    assert changed_lines(PATCH) == 1 + 3 + 2


def test_no_patch_changes_nothing_and_no_diff_is_refused():
    assert changed_lines("") == 0
    with pytest.raises(InputError, match="no unified diff"):
        changed_lines("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n")


@pytest.mark.parametrize(
    ("lines", "name"), [(0, "0"), (1, "1"), (3, "3"), (4, "4–7"), (7, "4–7"), (100, "64–127"), (999, "≥128")]
)
def test_sizes_have_classes(lines, name):
    assert size_class(lines) == name


def test_shares_per_class_in_order_of_size():
    lines = np.array([1, 10, 1, 2, np.nan])
    correct = np.array([[1, 0], [1, 0], [0, 0], [1, 1], [1, 1]], dtype=float)
    table = correctness_by_size(correct, ("a", "b"), lines)
    assert table["lines"].tolist() == ["1", "2", "8–15"] * 2
    assert table["instances"].tolist() == [2, 1, 1] * 2
    assert table["share"].tolist() == [0.5, 1, 1, 0, 1, 0]
    assert ((table["low"] <= table["share"]) & (table["share"] <= table["high"])).all()


def test_the_interval_is_the_exact_one():
    correct = np.repeat([1.0, 0.0], [4, 36])[:, np.newaxis]
    table = correctness_by_size(correct, ("a",), np.ones(40))
    assert table[["low", "high"]].to_numpy()[0] == pytest.approx([0.02793, 0.23663], abs=1e-5)
