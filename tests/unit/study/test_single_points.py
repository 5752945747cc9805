"""From the row's native command and identifier to the single-point command, for every runner and form of identifier.

Each expected command is written down by hand from the runner's own documentation, whose page the table names:

- pytest: "How to invoke pytest" (a module, a class, a function and one parameter set by node id; ``-k`` and ``-m``) and
  "How to parametrize fixtures and test functions" (ids, and that what is not ASCII in them is escaped)
- Django: "Unit tests" in "Contributing to Django" (``./runtests.py app.tests.Class.test_method``)
- SymPy: ``bin/test --help`` and "Running Tests" (a file, and ``-k`` for functions by name)
- unittest: "unittest: Command-Line Interface" and "Test Discovery" (dotted names, ``-s``, ``-t``, and that a ``-k``
  pattern with a wildcard has to fit the whole name)
- tox: "Configuration", {posargs}, and "CLI interface" (what follows ``--``)
- wrappers: the manuals of poetry, uv ("Running commands"), xvfb-run(1), timeout(1); "Bash Reference Manual" for lists
"""

from __future__ import annotations

import pytest
from small_instances import make_instance, steady, write_tree

from patchperf.study.commands import ShellCommand, single_point_command
from patchperf.study.identifiers import find_target

TREE = {
    "tests/test_a.py": """
import pytest
from tests.base import Base
def test_x(): pass
@pytest.mark.parametrize("p", PARAMETERS)
def test_p(p): pass
class TestA(Base):
    def test_m(self): pass
    class TestInner:
        def test_deep(self): pass
class Case(unittest.TestCase):
    def test_u(self): pass
""",
    "tests/base.py": "class Base:\n    def test_base(self): pass\n",
    "core/tests/test_c.py": "def test_x(): pass\n",
    "tests/app/tests.py": '''
class A(TestCase):
    def test_x(self):
        """
        What it is for, which
        takes two lines.
        """
class Outer:
    class Inner(TestCase):
        def test_x(self): pass
''',
    "pkg/core/tests/test_s.py": "def test_s(): pass\ndef test_s_more(): pass\n",
    "pkg/poly/tests/test_t.py": "def test_t(): pass\n",
    "tox.ini": "[testenv]\nsetenv =\n  W = all\ncommands =\n  python -X dev -m pytest --durations 25 {posargs}\n",
}
EXECUTABLES = {"python", "pytest"}
DJANGO = "./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1"
SYMPY = "PYTHONWARNINGS='ignore::UserWarning,ignore::SyntaxWarning' bin/test -C --verbose"
WARNINGS = {"PYTHONWARNINGS": "ignore::UserWarning,ignore::SyntaxWarning"}
A = "tests/test_a.py"


def single_point(tmp_path, native, test_id):
    instance = make_instance(native)
    tree = write_tree(tmp_path, TREE)
    return single_point_command(instance, find_target(instance, test_id, tree), tree, EXECUTABLES)


@pytest.mark.parametrize(
    ("native", "test_id", "argv"),
    [
        (f"pytest -rA {A}", f"{A}::test_x", ["pytest", "-rA", f"{A}::test_x"]),
        ("pytest -rA", f"{A}::test_x", ["pytest", "-rA", f"{A}::test_x"]),
        (f"pytest -rA {A}", f"{A}::TestA::test_m", ["pytest", "-rA", f"{A}::TestA::test_m"]),
        (f"pytest -rA {A}", f"{A}::TestA::()::test_m", ["pytest", "-rA", f"{A}::TestA::test_m"]),
        (
            f"pytest -rA {A}",
            f"{A}::TestA::TestInner::test_deep",
            ["pytest", "-rA", f"{A}::TestA::TestInner::test_deep"],
        ),
        (f"pytest -rA {A}", f"{A}::TestA::test_base", ["pytest", "-rA", f"{A}::TestA::test_base"]),
        (f"pytest -rA {A}", f"{A}::Case::test_u", ["pytest", "-rA", f"{A}::Case::test_u"]),
        (f"pytest -rA {A}", f"{A}::test_p[x1-y2]", ["pytest", "-rA", f"{A}::test_p[x1-y2]"]),
        (f"pytest -rA {A}", f"{A}::test_p[a::b[0]-()]", ["pytest", "-rA", f"{A}::test_p[a::b[0]-()]"]),
        (f"pytest -rA {A}", rf"{A}::test_p[\u4e2d]", ["pytest", "-rA", rf"{A}::test_p[\u4e2d]"]),
        (
            f"pytest -rA {A}",
            f'{A}::test_p[it\'s "$x"]'.replace(" ", "-"),
            ["pytest", "-rA", f'{A}::test_p[it\'s-"$x"]'],
        ),
        (
            f"pytest -rA -vv -o console_output_style=classic --tb=no {A} tests/test_b.py",
            f"{A}::test_x",
            ["pytest", "-rA", "-vv", "-o", "console_output_style=classic", "--tb=no", f"{A}::test_x"],
        ),
        (
            "python -m pytest -m 'not slow' -k 'x or y' -p no:cacheprovider --ignore tests/b tests",
            f"{A}::test_x",
            [
                *("python", "-m", "pytest", "-m", "not slow", "-k", "x or y"),
                *("-p", "no:cacheprovider", "--ignore", "tests/b", f"{A}::test_x"),
            ],
        ),
        ("pytest -rA -n 4 --cov=pkg tests", f"{A}::test_x", ["pytest", "-rA", f"{A}::test_x"]),
        (
            "python -m pytest -vv -rA 2>&1 | tee log",
            f"{A}::test_x",
            ["python", "-m", "pytest", "-vv", "-rA", f"{A}::test_x"],
        ),
        ("pytest -rA tests || true", f"{A}::test_x", ["pytest", "-rA", f"{A}::test_x"]),
        ("poetry run pytest -rA", f"{A}::test_x", ["pytest", "-rA", f"{A}::test_x"]),
        ("uv run --extra test pytest -rA", f"{A}::test_x", ["pytest", "-rA", f"{A}::test_x"]),
        ("xvfb-run -a pytest -rA", f"{A}::test_x", ["xvfb-run", "-a", "pytest", "-rA", f"{A}::test_x"]),
        ("timeout 600 pytest -rA", f"{A}::test_x", ["timeout", "600", "pytest", "-rA", f"{A}::test_x"]),
        (
            f"{DJANGO} app.tests",
            "test_x (app.tests.A)",
            [*DJANGO.split(), "app.tests.A.test_x"],
        ),
        (f"{DJANGO} app.tests", "test_x (app.tests.A.test_x)", [*DJANGO.split(), "app.tests.A.test_x"]),
        (f"{DJANGO} app.models app.tests", "What it is for, which", [*DJANGO.split(), "app.tests.A.test_x"]),
        (f"{DJANGO} app", "test_x (app.tests.Outer.Inner)", [*DJANGO.split(), "app.tests.Outer.Inner.test_x"]),
        (f"{DJANGO} app.tests", "test_x (app.tests.A) (n=1)", [*DJANGO.split(), "app.tests.A.test_x"]),
        (
            "./tests/runtests.py --verbosity 2 app.tests",
            "test_x (app.tests.A)",
            ["./tests/runtests.py", "--verbosity", "2", "app.tests.A.test_x"],
        ),
        (
            "python -m unittest -v tests.test_a",
            "test_u (tests.test_a.Case)",
            ["python", "-m", "unittest", "-v", "tests.test_a.Case.test_u"],
        ),
        (
            "python -m unittest -v tests.test_a",
            "test_u (tests.test_a.Case.test_u)",
            ["python", "-m", "unittest", "-v", "tests.test_a.Case.test_u"],
        ),
        (
            "python -m unittest -v",
            "test_u (tests.test_a.Case)",
            ["python", "-m", "unittest", "-v", "tests.test_a.Case.test_u"],
        ),
        (
            "python -m unittest discover -v -s tests -p 'test_*.py' -t .",
            "test_u (tests.test_a.Case)",
            ["python", "-m", "unittest", "-v", "tests.test_a.Case.test_u"],
        ),
        (
            "python -m unittest discover -v -s tests",
            "test_u (test_a.Case)",
            ["python", "-m", "unittest", "discover", "-v", "-s", "tests", "-k", "*test_a.Case.test_u"],
        ),
    ],
)
def test_a_plain_command_is_narrowed_to_the_one_test(tmp_path, native, test_id, argv):
    assert single_point(tmp_path, native, test_id) == ShellCommand(argv=steady(*argv))


@pytest.mark.parametrize(
    ("native", "test_id", "argv", "environment"),
    [
        (
            f"{SYMPY} pkg/core/tests/test_s.py",
            "test_s",
            ["bin/test", "-C", "--verbose", "--seed", "0", "pkg/core/tests/test_s.py", "-k", "test_s"],
            WARNINGS,
        ),
        (
            f"{SYMPY} pkg/core/tests/test_s.py pkg/poly/tests/test_t.py",
            "test_t",
            ["bin/test", "-C", "--verbose", "--seed", "0", "pkg/poly/tests/test_t.py", "-k", "test_t"],
            WARNINGS,
        ),
        (
            f"tox --current-env -epy39 -v -- {A}",
            f"{A}::TestA::test_m",
            ["python", "-X", "dev", "-m", "pytest", "-rA", "--durations", "25", f"{A}::TestA::test_m"],
            {"W": "all"},
        ),
        (f"PYTHONPATH=. pytest -rA {A}", f"{A}::test_x", ["pytest", "-rA", f"{A}::test_x"], {"PYTHONPATH": "."}),
        (f"env B=2 pytest -rA {A}", f"{A}::test_x", ["env", "pytest", "-rA", f"{A}::test_x"], {"B": "2"}),
    ],
)
def test_variables_of_the_command_stay_with_it(tmp_path, native, test_id, argv, environment):
    assert single_point(tmp_path, native, test_id) == ShellCommand(argv=steady(*argv), environment=environment)


@pytest.mark.parametrize(
    ("native", "test_id", "before", "call"),
    [
        (
            "cd core; pytest -rA --color yes",
            "tests/test_c.py::test_x",
            "cd core",
            "pytest -rA --color yes tests/test_c.py::test_x",
        ),
        ("export A=1 && pytest -rA", f"{A}::test_x", "export A=1", f"pytest -rA {A}::test_x"),
        ("source .venv/bin/activate; pytest", f"{A}::test_x", "source .venv/bin/activate", f"pytest {A}::test_x"),
        (
            "cd pkg && ../bin/test core/tests/test_s.py",
            "test_s",
            "cd pkg",
            "../bin/test --seed 0 core/tests/test_s.py -k test_s",
        ),
    ],
)
def test_what_prepares_a_command_stays_before_it(tmp_path, native, test_id, before, call):
    argv = single_point(tmp_path, native, test_id).argv
    assert argv[:2] == ("bash", "-c")
    lines = argv[2].splitlines()
    assert lines[-4:] == [
        before,
        f"{{ {' '.join(steady(*call.split()))}",
        "} || patchperf_status=$?",
        "exit $patchperf_status",
    ]
