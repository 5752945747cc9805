from __future__ import annotations

import sys
from pathlib import Path

import pytest

from patchperf.counters.preflight import choose, in_sandbox, on_host
from patchperf.errors import MachineError
from patchperf.sandbox.namespaces import Namespaces
from patchperf.sandbox.protocol import Limits


def attempts(**problems):
    """A machine on which the named backends fail for the given reasons; asking for any other is a mistake."""
    return lambda backend: problems[backend]


@pytest.mark.parametrize(
    ("machine", "backend"),
    [
        ({"perf": None, "cirron": None}, "cirron"),
        ({"perf": None, "cirron": "no c++"}, "perf"),
        ({"perf": "no PMU"}, "none"),
    ],
)
def test_auto_takes_cirron_then_perf_then_none(machine, backend):
    choice = choose("auto", attempts(**machine))
    assert choice.backend == backend
    assert set(choice.tried) == {"perf", "cirron"}


def test_auto_that_ends_with_none_says_loudly_what_is_lost_and_why():
    choice = choose("auto", attempts(perf="no PMU"))
    assert choice.reason == "NO INSTRUCTION COUNTS, WALL TIME ONLY: perf does not count here: no PMU"
    assert choice.tried["perf"] == "no PMU"


def test_auto_that_ends_with_perf_says_what_cirron_lacks():
    choice = choose("auto", attempts(perf=None, cirron="no c++"))
    assert choice.reason == "cirron does not count here: no c++"
    assert choice.tried == {"perf": "counts", "cirron": "no c++"}


def test_none_tries_nothing():
    assert choose("none", attempts()).tried == {}


@pytest.mark.parametrize("wanted", ["perf", "cirron"])
def test_a_backend_asked_for_by_name_is_used_if_it_counts(wanted):
    assert choose(wanted, attempts(**{wanted: None})).backend == wanted


def test_a_backend_asked_for_by_name_that_does_not_count_is_an_error_that_names_why():
    with pytest.raises(MachineError, match=r"^counter perf does not count here: no PMU; set counter to auto or none$"):
        choose("perf", attempts(perf="no PMU"))
    with pytest.raises(MachineError, match=r"cirron .*: failed to start; the event itself: no PMU"):
        choose("cirron", attempts(cirron="failed to start", perf="no PMU"))


@pytest.fixture(params=["host", "sandbox"])
def attempt(request, tmp_path):
    if request.param == "host":
        return on_host(tmp_path, Path(sys.executable))
    readable = (Path(sys.prefix), Path(sys.base_prefix))
    return in_sandbox(Namespaces(), Limits(), tmp_path, Path(sys.executable), readable, work=tmp_path)


def test_trying_perf_out_counts_or_names_the_kernels_reason(attempt):
    """Either is right, depending on the machine; nothing in between is."""
    problem = attempt("perf")
    assert problem is None or problem.startswith("counter-unreadable: perf_event_open: ")


def test_trying_no_counter_out_needs_nothing(tmp_path):
    assert on_host(tmp_path, Path(sys.executable))("none") is None


def test_a_python_that_prints_something_else_does_not_pass_for_a_counter(tmp_path):
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho Segmentation fault\n")
    broken.chmod(0o755)
    problem = on_host(tmp_path, broken)("perf")
    assert problem is not None
    assert problem.startswith("trying it out printed no counts: Segmentation fault")
