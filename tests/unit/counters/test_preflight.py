from __future__ import annotations

import platform
import shutil
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
        ({"perf": "no PMU", "qemu": None}, "qemu"),
        ({"perf": "no PMU", "qemu": "no cc", "callgrind": None}, "callgrind"),
        ({"perf": "no PMU", "qemu": "no cc", "callgrind": "no valgrind"}, "none"),
    ],
)
def test_auto_takes_the_first_that_counts_and_tells_what_it_tried(machine, backend):
    choice = choose("auto", attempts(**machine))
    assert choice.backend == backend
    assert choice.tried == {
        **({} if machine["perf"] is None else {"cirron": "not tried: it needs the hardware event that perf lacks"}),
        **{name: problem or "counts" for name, problem in machine.items()},
    }


def test_auto_that_ends_with_none_says_loudly_what_is_lost_and_why():
    choice = choose("auto", attempts(perf="no PMU", qemu="no cc", callgrind="no valgrind"))
    expected = "NO INSTRUCTION COUNTS, WALL TIME ONLY: perf: no PMU; qemu: no cc; callgrind: no valgrind"
    assert choice.reason == expected


def test_auto_that_ends_with_another_says_what_the_ones_before_lack():
    assert choose("auto", attempts(perf=None, cirron="no c++")).reason == "perf counts, cirron does not: no c++"
    told = choose("auto", attempts(perf="no PMU", qemu="no cc", callgrind=None)).reason
    assert told.startswith("callgrind counts, ")
    assert told.endswith("perf: no PMU; qemu: no cc")


PROGRAMS = ("cc", "qemu-x86_64", "valgrind")


@pytest.mark.parametrize(
    ("missing", "backend", "told"),
    [
        (set(), "qemu", {}),
        ({"cc"}, "callgrind", {"qemu": "cc, which is not installed: install gcc"}),
        ({"qemu-x86_64"}, "callgrind", {"qemu": "qemu-x86_64 is not installed: install qemu-user"}),
        ({"valgrind"}, "qemu", {}),
        ({"cc", "qemu-x86_64"}, "callgrind", {"qemu": "install qemu-user"}),
        ({"cc", "valgrind"}, "none", {"qemu": "install gcc", "callgrind": "install valgrind"}),
        ({"qemu-x86_64", "valgrind"}, "none", {"qemu": "install qemu-user", "callgrind": "install valgrind"}),
        (set(PROGRAMS), "none", {"qemu": "install qemu-user", "callgrind": "install valgrind"}),
    ],
)
def test_a_machine_without_some_programs_counts_with_what_is_left(tmp_path, monkeypatch, missing, backend, told):
    """The programs are real, of this machine; that it has no counter of its own is made so."""
    if platform.machine() != "x86_64":
        pytest.skip("the emulators are known for x86_64")
    found = {name: shutil.which(name) for name in (*PROGRAMS, "as", "ld", "dpkg", "dpkg-query")}
    assert all(found[name] for name in PROGRAMS), f"install gcc, qemu-user and valgrind: {found}"
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, path in found.items():
        if path is not None and name not in missing:
            (programs / name).symlink_to(path)
    monkeypatch.setenv("PATH", str(programs))
    attempt = on_host(tmp_path / "cache", Path(sys.executable))
    choice = choose("auto", lambda name: "no PMU" if name in ("perf", "cirron") else attempt(name))
    assert choice.backend == backend
    assert "\n" not in choice.reason
    assert choice.reason.startswith("NO INSTRUCTION COUNTS" if backend == "none" else f"{backend} counts, ")
    for name, problem in told.items():
        assert problem in choice.tried[name]
        assert problem in choice.reason


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
