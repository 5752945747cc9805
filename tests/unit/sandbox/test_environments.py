import json
import os
import platform
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from patchperf.config import Environments
from patchperf.errors import InputError, MachineError
from patchperf.sandbox.environments import (
    Environment,
    EnvironmentSpec,
    EnvironmentTable,
    build_environment,
    deciding_line,
    environment_for,
    load_environments,
)
from patchperf.sandbox.locks import exclusive

PYTHON = platform.python_version()


def wheel(folder: Path, name: str, version: str = "1.0", requires: str = "", code: str = "x = 1\n") -> str:
    """A requirement for a wheel of one module, made on the spot."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.py", code)
        archive.writestr(f"{info}/METADATA", metadata + (f"Requires-Dist: {requires}\n" if requires else ""))
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", f"{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return f"{name} @ {path.as_uri()}"


def written(folder: Path, content: object) -> tuple[Environments, tuple[Path, ...]]:
    (folder / "environments.json").write_text(json.dumps(content))
    return Environments(file="environments.json"), (folder,)


def test_an_instances_own_entry_comes_before_its_repositorys(tmp_path: Path) -> None:
    content = {
        "a__b-1": {"python": "3.6", "pip": ["sqlparse==0.4.4"]},
        "a/b@2.0": {"python": "3.8"},
        "a/b": {"python": "3.9", "pip": []},
    }
    table = load_environments(*written(tmp_path, content))
    assert table.file == tmp_path / "environments.json"
    own = EnvironmentSpec(python="3.6", pip=("sqlparse==0.4.4",))
    assert environment_for("a__b-1", "a/b", "2.0", table) == own
    assert environment_for("a__b-2", "a/b", "2.0", table).python == "3.8"
    assert environment_for("a__b-2", "a/b", "2.1", table).python == "3.9"


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"python": 3.1, "pip": []}, "a__b-1, python = 3.1: Input should be a valid string"),
        ({"pip": []}, "a__b-1, python = {'pip': []}: Field required"),
        ({"python": "3.9", "pip": "numpy"}, "a__b-1, pip = 'numpy': Input should be a valid tuple"),
        ({"python": "3.9", "conda": []}, "a__b-1, conda = []: Extra inputs are not permitted"),
        ({"python": ">=3.9"}, "a__b-1, python = '>=3.9': String should match pattern"),
    ],
)
def test_a_bad_entry_is_reported_with_its_key_and_field(tmp_path: Path, entry: object, said: str) -> None:
    with pytest.raises(InputError) as raised:
        load_environments(*written(tmp_path, {"a__b-1": entry}))
    assert f"environments file {tmp_path / 'environments.json'}: {said}" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_no_json_or_not_there_is_reported(tmp_path: Path) -> None:
    (tmp_path / "environments.json").write_text("{")
    with pytest.raises(InputError, match=r"environments\.json: not readable as JSON"):
        load_environments(Environments(file="environments.json"), (tmp_path,))
    with pytest.raises(InputError, match=r"other\.json: no such file or folder"):
        load_environments(Environments(file="other.json"), (tmp_path,))


def test_without_a_file_the_table_is_empty(tmp_path: Path) -> None:
    assert load_environments(Environments(), (tmp_path,)) == EnvironmentTable()


def test_an_instance_without_any_environment_is_reported_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "swebench", None)
    table = load_environments(*written(tmp_path, {"x/y": {"python": "3.9"}}))
    with pytest.raises(InputError) as raised:
        environment_for("a__b-1", "a/b", "2.0", table)
    assert str(raised.value) == (
        f"a__b-1: no environment: {tmp_path / 'environments.json'} has no a__b-1 or a/b@2.0 or a/b, and the package "
        "swebench is not installed; name a JSON file with an entry (python, pip) in environments.file, or install "
        "swebench from a checkout of its repository (4.1.0 or later), which has one for each Verified instance"
    )


def test_the_digest_is_of_the_set_of_requirements_and_of_the_interpreters_build() -> None:
    spec = EnvironmentSpec(python=PYTHON, pip=("a==1", "b==2"))
    short = ".".join(PYTHON.split(".")[:2])
    assert spec.digest == EnvironmentSpec(python=short, pip=("b==2", "a==1", "a==1"), left_out=("c",)).digest
    assert spec.digest != EnvironmentSpec(python=PYTHON, pip=("a==1", "b==3")).digest
    assert spec.digest != EnvironmentSpec(python=PYTHON, pip=("a==1", "b==2"), complete=True).digest
    content = {"complete": False, "machine": platform.machine(), "pip": ["a==1", "b==2"]}
    canonical = json.dumps({**content, "python": " ".join(sys.version.split())}, sort_keys=True, separators=(",", ":"))
    hashed = subprocess.run(["sha256sum"], input=canonical.encode(), capture_output=True, check=True)
    assert hashed.stdout.split()[0].decode() == spec.digest


def test_an_environment_has_its_pins_and_nothing_else_compiled_and_on_its_own(tmp_path: Path) -> None:
    built = build_environment(EnvironmentSpec(python=PYTHON, pip=("iniconfig==2.0.0",)), tmp_path / "cache")
    assert built.prefix == tmp_path / "cache" / "environments" / built.digest
    assert built.base_prefix == Path(sys.base_prefix).resolve()
    assert built.packages == {"iniconfig": "2.0.0"}
    asked = "import iniconfig, sys; print(sys.prefix, iniconfig.__cached__); import pip"
    run = subprocess.run([built.python, "-c", asked], capture_output=True, text=True, check=False)
    prefix, cached = run.stdout.split()
    assert Path(prefix) == built.prefix
    assert Path(cached).is_file()
    assert "No module named 'pip'" in run.stderr


@pytest.mark.parametrize("version", ["3.6", "3.13"])
def test_old_and_new_pythons_get_environments_where_they_are_installed(tmp_path: Path, version: str) -> None:
    folder = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    if not list(folder.glob(f"{version}.*")):
        pytest.skip(f"no Python {version} under {folder}")
    built = build_environment(EnvironmentSpec(python=version, pip=(wheel(tmp_path, "tiny"),)), tmp_path / "cache")
    asked = "import os, sys, tiny; print('%d.%d' % sys.version_info[:2], os.path.exists(tiny.__cached__))"
    assert subprocess.check_output([built.python, "-c", asked], text=True) == f"{version} True\n"


def test_a_second_request_is_served_from_the_cache_in_no_time(tmp_path: Path) -> None:
    spec = EnvironmentSpec(python=PYTHON, pip=(wheel(tmp_path, "tiny"),))
    first = build_environment(spec, tmp_path / "cache")
    os.utime(first.prefix, (1, 1))
    start = time.perf_counter()
    second = build_environment(spec, tmp_path / "cache")
    assert time.perf_counter() - start < 0.05
    assert second == first
    assert first.prefix.stat().st_mtime == 1


def test_dependencies_are_followed_unless_the_requirements_are_complete(tmp_path: Path) -> None:
    inner = wheel(tmp_path, "inner")
    outer = wheel(tmp_path, "outer", requires=inner)
    open_spec = EnvironmentSpec(python=PYTHON, pip=(outer,))
    complete = EnvironmentSpec(python=PYTHON, pip=(outer,), complete=True)
    assert set(build_environment(open_spec, tmp_path / "cache").packages) == {"inner", "outer"}
    assert set(build_environment(complete, tmp_path / "cache").packages) == {"outer"}


def test_a_package_that_does_not_compile_whole_is_still_installed(tmp_path: Path) -> None:
    pip = (wheel(tmp_path, "odd", code="print 'Python 2'\n"), wheel(tmp_path, "tiny"))
    built = build_environment(EnvironmentSpec(python=PYTHON, pip=pip), tmp_path / "cache")
    assert set(built.packages) == {"odd", "tiny"}
    assert list(built.prefix.rglob("tiny.*.pyc"))


def test_what_our_own_environment_says_of_python_does_not_reach_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shadow").mkdir()
    (tmp_path / "shadow" / "compileall.py").write_text("raise SystemExit('shadowed')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "shadow"))
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "elsewhere"))
    spec = EnvironmentSpec(python=PYTHON, pip=(wheel(tmp_path, "tiny"),))
    assert list(build_environment(spec, tmp_path / "cache").prefix.rglob("tiny.*.pyc"))


BUILDER = """
import sys
from pathlib import Path
from patchperf.sandbox.environments import EnvironmentSpec, build_environment
print(build_environment(EnvironmentSpec(python=sys.argv[1], pip=(sys.argv[2],)), Path(sys.argv[3])).digest)
"""


def waits_for_a_lock(pid: int) -> bool:
    return any(line.split()[1] == "->" and str(pid) in line.split() for line in Path("/proc/locks").open())


def test_a_process_that_asks_during_a_build_waits_for_it_and_takes_its_result(tmp_path: Path) -> None:
    requirement = wheel(tmp_path, "tiny")
    built = build_environment(EnvironmentSpec(python=PYTHON, pip=(requirement,)), tmp_path / "cache")
    made = built.prefix.stat().st_ino
    record = built.prefix.with_suffix(".json")
    command = [sys.executable, "-c", BUILDER, PYTHON, requirement, str(tmp_path / "cache")]
    with exclusive(built.prefix.with_suffix(".lock")):
        record.rename(tmp_path / "record")
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        while not waits_for_a_lock(process.pid):
            assert process.poll() is None
            time.sleep(0.01)
        (tmp_path / "record").rename(record)
    assert process.communicate(timeout=60)[0].strip() == built.digest
    assert built.prefix.stat().st_ino == made


def test_a_build_that_was_killed_half_way_is_done_again(tmp_path: Path) -> None:
    requirement = wheel(tmp_path, "tiny")
    spec = EnvironmentSpec(python=PYTHON, pip=(requirement,))
    prefix = tmp_path / "cache" / "environments" / spec.digest
    command = [sys.executable, "-c", BUILDER, PYTHON, requirement, str(tmp_path / "cache")]
    with subprocess.Popen(command) as process:
        while not (prefix / "pyvenv.cfg").exists():
            assert process.poll() is None
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
    assert not prefix.with_suffix(".json").exists()
    (prefix / "left-over").touch()
    assert build_environment(spec, tmp_path / "cache").packages == {"tiny": "1.0"}
    assert not (prefix / "left-over").exists()


def break_link(built: Environment) -> None:
    built.python.unlink()
    built.python.symlink_to(built.prefix / "gone")


def spoil_record(built: Environment) -> None:
    built.prefix.with_suffix(".json").write_text("")


@pytest.mark.parametrize("damage", [break_link, spoil_record])
def test_a_damaged_environment_is_built_again(tmp_path: Path, damage: Callable[[Environment], None]) -> None:
    spec = EnvironmentSpec(python=PYTHON, pip=(wheel(tmp_path, "tiny"),))
    built = build_environment(spec, tmp_path / "cache")
    damage(built)
    assert build_environment(spec, tmp_path / "cache") == built
    subprocess.run([built.python, "-c", "import tiny"], check=True)


def test_pins_that_contradict_each_other_are_reported_and_leave_nothing(tmp_path: Path) -> None:
    one, two = wheel(tmp_path / "1", "tiny", "1.0"), wheel(tmp_path / "2", "other", requires="tiny==2.0")
    spec = EnvironmentSpec(python=PYTHON, pip=(one, two))
    with pytest.raises(MachineError, match=r"environment of Python .* with 2 requirements: .*tiny==2\.0") as raised:
        build_environment(spec, tmp_path / "cache")
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "cache" / "environments" / spec.digest).exists()


def test_a_build_that_takes_too_long_is_ended_and_reported(tmp_path: Path) -> None:
    spec = EnvironmentSpec(python=PYTHON, pip=(wheel(tmp_path, "tiny"),))
    with pytest.raises(MachineError, match=r"not built after 0\.001 s; raise timeouts\.install"):
        build_environment(spec, tmp_path / "cache", timeout=0.001)


def test_a_missing_interpreter_is_reported_before_anything_is_built(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match=r"Python 1\.5\.2 is not installed"):
        build_environment(EnvironmentSpec(python="1.5.2"), tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


RESOLUTION = """Using Python 3.6.15 environment at: x
error: No solution found when resolving dependencies
  cause: Because the current Python version (3.6.15) does not satisfy Python>=3.8 and pytest==8.3.4 depends on
         Python>=3.8, we can conclude that pytest==8.3.4 cannot be used.
"""
COMPILATION = """Resolved 1 package in 5.33s
   Building tiny==1.0
error: Failed to build `tiny==1.0`
  cause: The build backend returned an error

         [stdout]
         running build_ext
         error-free so far

         [stderr]
         warning: all is well
         x.c:1:10: fatal error: nosuch.h: No such file or directory
             1 | #include <nosuch.h>
         error: command 'gcc' failed with exit status 1

hint: This error likely indicates that you need to install a library
"""
BOXED = """  × No solution found when resolving dependencies:
  ╰─▶ Because tiny was not found in the package registry and you require
      tiny==1.0, we can conclude that your requirements are unsatisfiable.
"""


@pytest.mark.parametrize(
    ("stderr", "line"),
    [
        (
            RESOLUTION,
            "No solution found when resolving dependencies cause: Because the current Python version (3.6.15) does "
            "not satisfy Python>=3.8 and pytest==8.3.4 depends on Python>=3.8, we can conclude that pytest==8.3.4 "
            "cannot be used.",
        ),
        (
            COMPILATION,
            "Failed to build `tiny==1.0` cause: The build backend returned an error "
            "x.c:1:10: fatal error: nosuch.h: No such file or directory",
        ),
        (
            BOXED,
            "No solution found when resolving dependencies: Because tiny was not found in the package registry and you "
            "require tiny==1.0, we can conclude that your requirements are unsatisfiable.",
        ),
        ("something else\n", "something else"),
        ("", "uv ended with an error and no word"),
    ],
)
def test_the_line_that_decides_is_drawn_from_what_uv_prints(stderr: str, line: str) -> None:
    assert deciding_line(stderr) == line
