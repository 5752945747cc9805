import json
import platform
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from patchperf.errors import InputError, MachineError
from patchperf.sandbox.interpreters import describe, find_python

RUNNING = platform.python_version()
BASE = Path(getattr(sys, "_base_executable", sys.executable)).resolve()


@pytest.fixture(autouse=True)
def _fresh_caches() -> Iterator[None]:
    find_python.cache_clear()
    describe.cache_clear()
    yield
    find_python.cache_clear()
    describe.cache_clear()


@pytest.fixture
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with no interpreter but the running one."""
    for name in ("CONDA_EXE", "CONDA_ROOT", "MAMBA_ROOT_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("UV_PYTHON_INSTALL_DIR", str(tmp_path / "uv"))
    return tmp_path


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def pretender(path: Path, version: str, **facts: str) -> Path:
    """An executable that answers the probe as a Python of that version would."""
    told = {
        "version_info": [*map(int, version.split(".")), "final", 0],
        "build": f"{version} (pretended)",
        "executable": str(path),
        "prefix": "/nowhere",
        "base_prefix": "/nowhere",
        "implementation": "cpython",
        "abiflags": "",
        **facts,
    }
    return script(path, f"#!/bin/sh\necho '{json.dumps(told)}'\n")


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_any_prefix_of_the_running_version_finds_the_base_of_the_running_interpreter(parts: int) -> None:
    found = find_python(".".join(RUNNING.split(".")[:parts]))
    assert found == BASE
    asked = subprocess.check_output([found, "-c", "import platform, sys; print(platform.python_version(), sys.prefix)"])
    assert asked.decode().split() == [RUNNING, sys.base_prefix]


def test_a_virtual_environments_python_is_described_by_what_it_was_made_from(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    described = describe(tmp_path / "venv" / "bin" / "python")
    assert described is not None
    assert described.base_prefix == Path(sys.base_prefix).resolve()
    assert described.build == " ".join(sys.version.split())
    assert Path(sys.base_prefix).resolve() in described.path.parents


def test_a_prefix_is_compared_number_by_number(empty_machine: Path) -> None:
    pretender(empty_machine / "pyenv/versions/3.10.4/bin/python", "3.10.4")
    with pytest.raises(MachineError, match=r"Python 3\.1 is not installed"):
        find_python("3.1")


def test_the_newest_release_of_a_place_wins_even_if_its_name_sorts_first(empty_machine: Path) -> None:
    pretender(empty_machine / "pyenv/versions/2.7.9/bin/python", "2.7.9")
    newest = pretender(empty_machine / "pyenv/versions/2.7.18/bin/python", "2.7.18")
    assert find_python("2.7") == newest.resolve()


def test_path_comes_before_pyenv_before_conda_before_uv(empty_machine: Path) -> None:
    places = [
        pretender(empty_machine / "bin/python2.6", "2.6.1"),
        pretender(empty_machine / "pyenv/versions/2.6.9/bin/python", "2.6.9"),
        pretender(empty_machine / "env/bin/python", "2.6.10"),
        pretender(empty_machine / "uv/cpython-2.6.11-linux/bin/python3", "2.6.11"),
    ]
    listed = empty_machine / "home/.conda/environments.txt"
    listed.parent.mkdir(parents=True)
    listed.write_text(f"{empty_machine / 'env'}\n")
    for place in places:
        find_python.cache_clear()
        describe.cache_clear()
        assert find_python("2.6") == place.resolve()
        place.unlink()


def test_an_executable_that_fails_when_run_is_passed_over(empty_machine: Path) -> None:
    script(empty_machine / "bin/python2.6", "#!/bin/sh\necho 'python2.6: command not found' >&2\nexit 127\n")
    good = pretender(empty_machine / "pyenv/versions/2.6.9/bin/python", "2.6.9")
    assert find_python("2.6") == good.resolve()


def test_pyenvs_shims_are_not_even_started(empty_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shims = empty_machine / "pyenv" / "shims"
    script(shims / "python2.6", f"#!/bin/sh\ntouch {empty_machine}/started\nexit 127\n")
    monkeypatch.setenv("PATH", str(shims))
    good = pretender(empty_machine / "pyenv/versions/2.6.9/bin/python", "2.6.9")
    assert find_python("2.6") == good.resolve()
    assert not (empty_machine / "started").exists()


@pytest.mark.parametrize("odd", [{"implementation": "pypy"}, {"abiflags": "t"}, {"abiflags": "dm"}])
def test_other_pythons_debug_and_free_threaded_builds_do_not_count(empty_machine: Path, odd: dict[str, str]) -> None:
    pretender(empty_machine / "pyenv/versions/odd/bin/python", "2.7.18", **odd)
    plain = pretender(empty_machine / "pyenv/versions/2.7.1/bin/python", "2.7.1", abiflags="m")
    assert find_python("2.7") == plain.resolve()


def test_a_missing_version_is_reported_with_what_is_there_and_what_to_do(empty_machine: Path) -> None:
    pretender(empty_machine / "pyenv/versions/3.6.15/bin/python", "3.6.15")
    with pytest.raises(MachineError) as raised:
        find_python("3.5")
    assert str(raised.value) == (
        f"Python 3.5 is not installed; found 3.6.15, {RUNNING}; install it, for example with "
        "`uv python install 3.5` or `pyenv install 3.5`, or name another version in the environments file"
    )


@pytest.mark.parametrize("version", ["", "three", "3.", ">=3.9", "3.9.18.1"])
def test_what_is_no_dotted_number_is_refused(version: str) -> None:
    with pytest.raises(InputError, match="give a dotted number"):
        find_python(version)


def test_an_interpreter_is_asked_once(empty_machine: Path) -> None:
    python = pretender(empty_machine / "pyenv/versions/2.6.9/bin/python", "2.6.9")
    log = empty_machine / "asked"
    python.write_text(python.read_text() + f"echo again >> {log}\n")
    for version in ("2.6", "2.6", "2.6.9"):
        find_python(version)
    assert log.read_text() == "again\n"
