from __future__ import annotations

from patchperf.pages.patches import MOST_LINES, WIDEST, SideBySide, one_alone, side_by_side

TRUTH = """\
diff --git a/pkg/a.py b/pkg/a.py
index 1..2 100644
--- a/pkg/a.py
+++ b/pkg/a.py
@@ -1,3 +1,3 @@ def f():
 x = 1
-y = 2
+y = 3
 z = 4
"""
OTHER = TRUTH.replace("+y = 3", "+y = 1 + 2")


def told(both: SideBySide) -> list[tuple[str, str]]:
    return [
        (left.text if left else "", right.text if right else "") for file in both.files for left, right in file.rows
    ]


def test_equal_lines_stand_beside_each_other_and_different_ones_too() -> None:
    (file,) = side_by_side(TRUTH, OTHER).files
    assert file.path == "pkg/a.py"
    assert not file.same
    assert [(left and left.text, right and right.text) for left, right in file.rows] == [
        ("@@ -1,3 +1,3 @@ def f():", "@@ -1,3 +1,3 @@ def f():"),
        (" x = 1", " x = 1"),
        ("-y = 2", "-y = 2"),
        ("+y = 3", "+y = 1 + 2"),
        (" z = 4", " z = 4"),
    ]
    assert [left.kind for left, _ in file.rows if left] == ["place", "context", "removed", "added", "context"]


def test_files_are_matched_by_their_names_whatever_their_order() -> None:
    second = OTHER.replace("pkg/a.py", "pkg/b.py")
    both = side_by_side(TRUTH, second + TRUTH)
    assert [(file.path, file.same) for file in both.files] == [("pkg/a.py", True), ("pkg/b.py", False)]
    assert all(left is None for left, _ in both.files[1].rows)


def test_a_patch_without_git_lines_names_its_files_too() -> None:
    plain = "".join(TRUTH.splitlines(keepends=True)[2:])
    (file,) = side_by_side(TRUTH, plain).files
    assert (file.path, file.same) == ("pkg/a.py", True)


def test_a_deleted_file_keeps_its_name() -> None:
    patch = "--- a/pkg/a.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    (file,) = one_alone(patch).files
    assert file.path == "pkg/a.py"
    assert told(one_alone(patch)) == [("@@ -1 +0,0 @@", ""), ("-x", "")]


def test_lines_of_a_hunk_that_look_like_headers_are_none() -> None:
    patch = "--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n--- old\n+++ new\n same\n"
    (file,) = one_alone(patch).files
    assert file.path == "q.sql"
    assert told(one_alone(patch)) == [("@@ -1,2 +1,2 @@", ""), ("--- old", ""), ("+++ new", ""), (" same", "")]


def test_what_would_steer_a_terminal_or_turn_text_around_is_shown_as_an_escape() -> None:
    patch = "--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+a\x1b[31m\u202eb\udcff\n"
    assert told(one_alone(patch))[-1] == ("+a\\x1b[31m\\u202eb\\udcff", "")


def test_long_patches_and_lines_are_cut_and_it_is_said() -> None:
    lines = MOST_LINES + 100
    patch = f"--- a/x\n+++ b/x\n@@ -0,0 +1,{lines} @@\n" + f"+{'y' * 1000}\n" * lines
    both = one_alone(patch)
    assert both.left_out == 103
    text = told(both)[-1][0]
    assert text.startswith("+" + "y" * (WIDEST - 1))
    assert text.endswith(f"({1001 - WIDEST} more characters)")


def test_an_empty_patch_has_no_files() -> None:
    assert one_alone("") == SideBySide((), 0)
    assert one_alone("\n \n").files == ()
