from __future__ import annotations

import lizard
import pytest

from patchperf.quality.versions import LARGEST, count_versions

SIMPLE = b"def f(a):\n    return a\n"
BRANCHED = b"def f(a):\n    if a:\n        return 1\n    return a\n"
RISKY = b"import os\n\n\ndef f(a):\n    os.system(a)\n    return a\n"
BASE = {"pkg/a.py": SIMPLE, "pkg/b.py": BRANCHED}


def count(reference, files, base=BASE):
    return count_versions(base, reference, {"model": files})["model"]


def test_the_ground_truth_beside_itself_is_level():
    fixed = BASE | {"pkg/a.py": BRANCHED}
    found = count(fixed, fixed)
    assert found.compiles
    assert found.complexity == found.complexity_reference == 2
    assert found.findings == found.findings_reference == 0
    assert found.note == ""


def test_a_file_that_only_one_patch_touches_stands_as_it_was_in_the_other():
    found = count(BASE | {"pkg/a.py": BRANCHED}, BASE | {"pkg/b.py": RISKY})
    assert (found.complexity, found.complexity_reference) == (1 + 1, 2 + 2)
    assert (found.findings, found.findings_reference) == (1, 0)


def test_a_deleted_file_counts_nothing():
    found = count(BASE | {"pkg/a.py": BRANCHED}, {"pkg/a.py": BRANCHED})
    assert (found.complexity, found.complexity_reference) == (2, 2 + 2)
    assert found.compiles


def test_a_renamed_file_counts_once():
    found = count(BASE | {"pkg/a.py": BRANCHED}, {"pkg/a.py": BRANCHED, "pkg/c.py": BRANCHED})
    assert (found.complexity, found.complexity_reference) == (4, 4)


def test_a_file_that_is_no_python_is_not_measured():
    found = count(BASE | {"pkg/a.py": BRANCHED}, BASE | {"pkg/a.py": BRANCHED, "data.json": b"{", "x.js": b"if(1){}"})
    assert (found.complexity, found.findings, found.compiles, found.note) == (2, 0, True, "")


def test_a_new_file_is_measured():
    found = count(BASE | {"pkg/a.py": BRANCHED}, BASE | {"pkg/a.py": BRANCHED, "try.py": RISKY})
    assert (found.complexity, found.findings) == (3, 1)


def test_a_patch_with_a_syntax_error_does_not_compile():
    found = count(BASE | {"pkg/a.py": BRANCHED}, BASE | {"pkg/a.py": b"def f(a:\n"})
    assert not found.compiles
    assert found.note == "does not parse: pkg/a.py"


def test_a_file_that_did_not_parse_before_is_left_out_of_both():
    base = BASE | {"old.py": b"print 'two'\n"}
    found = count(base | {"pkg/a.py": BRANCHED}, base | {"pkg/a.py": SIMPLE, "old.py": b"print 'three'\n"}, base)
    assert found.compiles
    assert found.note == "not parsed before: old.py"
    assert (found.complexity, found.complexity_reference) == (1, 2)


def test_each_source_is_compared_on_its_own_files():
    reference = BASE | {"pkg/a.py": BRANCHED}
    found = count_versions(BASE, reference, {"one": BASE | {"pkg/b.py": SIMPLE}, "two": reference})
    assert found["one"].complexity_reference == 4
    assert found["two"].complexity_reference == 2


def nested(levels, line, first=0):
    return b"".join(b" " * level + line for level in range(first, levels)) + b" " * levels + b"pass\n"


PARSED = {
    "tabs": (b"def f(a):\n\tif a:\n\t\treturn 1\n\treturn a\n", 2),
    "form feeds": (b"def f(a):\n    return a\n\x0c\ndef g(a):\n    return a\n", 2),
    "old Macintosh line ends": (BRANCHED.replace(b"\n", b"\r"), 2),
    "Windows line ends": (BRANCHED.replace(b"\n", b"\r\n"), 2),
    "a byte order mark": (b"\xef\xbb\xbf" + BRANCHED, 2),
    "Latin-1, declared": (b"# coding: latin-1\ndef f(a):\n    return '\xe9' if a else a\n", 2),
    "names in other scripts": ("def ƒ(ä):\n    return '🎉' if ä else ä\n".encode(), 2),
    "match": (
        b"def f(a):\n    match a:\n        case 1:\n            return 1\n        case _:\n            return 2\n",
        3,
    ),
    "nested conditions": (b"def f(a):\n" + nested(90, b"if a:\n", first=1), 90),
    "nested functions": (nested(90, b"def f(a):\n"), 90),
    "nested brackets": (b"x = " + b"(" * 150 + b"1" + b")" * 150 + b"\n", 0),
    "a long line": (b"def f():\n    return [" + b"1, " * 50_000 + b"]\n", 1),
    "many functions": (BRANCHED * 5_000, 10_000),
    "a long chain": (b"x = a" + b".b()" * 200 + b"\n", 0),
    "nothing": (b"", 0),
}


@pytest.mark.parametrize(("content", "expected"), PARSED.values(), ids=PARSED)
def test_odd_code_that_parses_is_counted(content, expected):
    found = count(BASE | {"pkg/a.py": BRANCHED}, BASE | {"pkg/a.py": content})
    assert (found.compiles, found.note, found.complexity) == (True, "", expected)


BROKEN = {
    "null bytes": b"def f(a):\n    return a\0\n",
    "Latin-1, not declared": b"def f(a):\n    return '\xe9'\n",
    "UTF-16": SIMPLE.decode().encode("utf-16"),
    "an encoding that is none": b"# coding: nonsense\n" + SIMPLE,
    "an encoding of no text": b"# coding: rot13\n" + SIMPLE,
    "an encoding that always fails": b"# coding: undefined\n" + SIMPLE,
    "Python 2": b"def f(a):\n    print 'a', a\n",
    "tabs and spaces mixed": b"def f(a):\n\tif a:\n        return 1\n",
    "brackets too deep": b"x = " + b"(" * 50_000 + b"\n",
    "blocks too deep": nested(500, b"def f(a):\n"),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_odd_code_that_does_not_parse_is_told_and_not_counted(content):
    found = count(BASE | {"pkg/a.py": BRANCHED}, BASE | {"pkg/a.py": content})
    assert (found.compiles, found.note, found.complexity) == (False, "does not parse: pkg/a.py", 0)
    before = count(BASE | {"pkg/a.py": BRANCHED}, BASE | {"pkg/a.py": SIMPLE}, BASE | {"pkg/a.py": content})
    assert (before.compiles, before.note, before.complexity) == (True, "not parsed before: pkg/a.py", 0)


def test_a_file_of_data_is_left_out_of_both():
    data = b"ROWS = (\n" + b"    0,\n" * (LARGEST // 7) + b")\n"
    found = count(BASE | {"pkg/a.py": BRANCHED}, BASE | {"pkg/a.py": RISKY + data})
    assert (found.compiles, found.note) == (True, "too large: pkg/a.py")
    assert (found.complexity, found.complexity_reference, found.findings) == (0, 0, 0)


def test_a_file_that_lizard_fails_on_is_left_out_of_both_complexities(monkeypatch):
    whole = lizard.FileAnalyzer.analyze_source_code

    def failing(self, path, text):
        if "os.system" in text:
            raise IndexError("pop from empty list")
        return whole(self, path, text)

    monkeypatch.setattr(lizard.FileAnalyzer, "analyze_source_code", failing)
    found = count(BASE | {"pkg/b.py": SIMPLE}, BASE | {"pkg/a.py": RISKY})
    assert (found.compiles, found.note) == (True, "complexity not counted: pkg/a.py")
    assert (found.complexity, found.complexity_reference, found.findings) == (2, 1, 1)
