from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from patchperf.counters.programs import (
    ELF,
    HOST,
    ImagePrograms,
    elf_interpreter,
    emulated,
    is_elf,
    pinned,
    started_program,
    write_emulated,
)

PYTHON = Path(sys.executable)


def script(path: Path, first_line: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{first_line}\nprint('hello')\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("first_line", "before"),
    [
        ("#!{python}", ["{python}"]),
        ("#!{python} -I", ["{python}", "-I"]),
        ("#! /usr/bin/env python", ["{folder}/python"]),
    ],
)
def test_a_script_is_its_interpreters_argument(tmp_path, first_line, before):
    (tmp_path / "python").symlink_to(PYTHON)
    names = {"python": PYTHON, "folder": tmp_path}
    one = script(tmp_path / "run", first_line.format(**names))
    started = started_program((str(one), "-v"), f"/nowhere:{tmp_path}")
    assert started == (*(word.format(**names) for word in before), str(one), "-v")


@pytest.mark.parametrize("quote", ["", '"', "'"])
def test_a_script_with_too_long_a_first_line_is_its_interpreters_argument_too(tmp_path, quote):
    """As installers write it: a shell script that Python reads as a text."""
    one = script(tmp_path / "run", f"#!/bin/sh\n'''exec' {quote}{PYTHON}{quote} \"$0\" \"$@\"\n' '''")
    assert HOST.first_line(str(one)) == f"#!{PYTHON}"
    plain = script(tmp_path / "plain", "#!/bin/sh\nexec true")
    assert HOST.first_line(str(plain)) == "#!/bin/sh"


def test_what_does_not_run_is_not_started(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("#!/bin/sh\n")
    assert started_program((str(plain),), "") is None
    assert started_program((str(script(tmp_path / "loop", f"#!{tmp_path}/loop")),), "") is None
    assert started_program((str(script(tmp_path / "lost", "#!/usr/bin/env nosuchprogram")),), "/nowhere") is None
    assert started_program((str(tmp_path / "absent"),), "") is None


def test_programs_found_on_path_run_under_the_emulator_and_others_do_not(tmp_path):
    """The emulator here is a shell that says what it was given."""
    emulator = script(tmp_path / "emulator", "#!/bin/sh")
    emulator.write_text('#!/bin/sh\necho "emulated $@"\n')
    ours, other = tmp_path / "ours", tmp_path / "other"
    (ours / "bin").mkdir(parents=True)
    other.mkdir()
    (ours / "bin" / "python").symlink_to(PYTHON)
    script(ours / "bin" / "runner", f"#!{ours}/bin/python")
    shutil.copy(shutil.which("true") or "", other / "tool")
    (other / "python3").symlink_to(PYTHON)
    folder = tmp_path / "emulated programs"
    write_emulated(folder, [str(emulator), "-x"], f"{ours}/bin:relative:{other}", [ours])
    assert sorted(path.name for path in folder.iterdir()) == ["python", "python3", "runner"]
    done = subprocess.run([folder / "runner", "a b"], capture_output=True, text=True, check=True)
    assert done.stdout == f"emulated -x {ours}/bin/python {ours}/bin/runner a b\n"


def test_programs_of_an_image_are_known_from_what_was_found_in_it(tmp_path):
    found = {
        "/opt/env/bin": {"python": ELF, "runner": "#!/opt/env/bin/python", "lost": "#!/elsewhere/python", "other": ""},
        "/usr/bin": {"python3": ELF, "env": ELF, "tool": ELF, "test": "#!/usr/bin/env python"},
    }
    programs = ImagePrograms(found, (Path("/opt/env"),))
    path = "/opt/env/bin:/nowhere:/usr/bin"
    write_emulated(tmp_path / "programs", ["qemu"], path, [], programs)
    assert sorted(path.name for path in (tmp_path / "programs").iterdir()) == ["python", "python3", "runner"]
    told = (tmp_path / "programs" / "runner").read_text()
    assert told == '#!/bin/sh\nexec qemu /opt/env/bin/python /opt/env/bin/runner "$@"\n'
    assert started_program(("/usr/bin/test",), path, programs) == ("/opt/env/bin/python", "/usr/bin/test")
    assert emulated(("/usr/bin/tool", "-v"), ("qemu",), programs) == ("qemu", "/usr/bin/tool", "-v")
    assert emulated((str(PYTHON), "-v"), ("qemu",), programs) == (str(PYTHON), "-v")


def test_an_absolute_elf_program_gets_the_emulator_in_front():
    assert emulated((str(PYTHON), "-v"), ("qemu", "-x")) == ("qemu", "-x", str(PYTHON), "-v")
    assert emulated(("python", "-v"), ("qemu",)) == ("python", "-v")


def test_emulated_programs_come_first_on_path():
    told = pinned({"PATH": "/a:/b", "X": "1"}, {"T": "2"}, "/tools/on-path")
    assert told == {"PATH": "/tools/on-path:/a:/b", "X": "1", "T": "2"}


def test_a_dynamic_program_names_its_loader_and_a_text_is_no_program(tmp_path):
    assert str(elf_interpreter(PYTHON.resolve())).startswith("/lib")
    assert is_elf(PYTHON)
    assert not is_elf(script(tmp_path / "run", "#!/bin/sh"))
    assert not is_elf(tmp_path / "absent")
