"""On made-up folders in the place of /sys and /proc: no machine shows what processors of all kinds do."""

from __future__ import annotations

from pathlib import Path

import pytest

from patchperf.isolation.state import Tuned, Tuning
from patchperf.isolation.tuning import apply, choose, restore

ALL = Tuning(governor="performance", turbo=False, aslr="off")
CPU = "sys/devices/system/cpu"
LAYOUT = "proc/sys/kernel/randomize_va_space"
INTEL = {
    f"{CPU}/cpufreq/policy{number}/{name}": text
    for number in (0, 2, 10)
    for name, text in (("scaling_governor", "powersave"), ("scaling_available_governors", "performance powersave"))
} | {f"{CPU}/intel_pstate/no_turbo": "0", LAYOUT: "2"}
ACPI = {
    f"{CPU}/cpufreq/policy0/scaling_governor": "ondemand",
    f"{CPU}/cpufreq/policy0/scaling_available_governors": "conservative ondemand performance",
    f"{CPU}/cpufreq/boost": "1",
    LAYOUT: "2",
}
AMD = {
    f"{CPU}/cpufreq/policy{number}/{name}": text
    for number in (0, 1)
    for name, text in (("scaling_governor", "schedutil"), ("boost", "1"))
} | {LAYOUT: "1"}


@pytest.fixture
def machine(tmp_path: Path):
    """Makes a folder with the files of a machine."""

    def make(files: dict[str, str]) -> Path:
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(f"{text}\n")
        return tmp_path

    return make


def files(root: Path) -> dict[str, str]:
    return {str(file.relative_to(root)): file.read_text().strip() for file in root.rglob("*") if file.is_file()}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            INTEL,
            {
                **{f"{CPU}/cpufreq/policy{number}/scaling_governor": "performance" for number in (0, 2, 10)},
                f"{CPU}/intel_pstate/no_turbo": "1",
                LAYOUT: "0",
            },
        ),
        (ACPI, {f"{CPU}/cpufreq/policy0/scaling_governor": "performance", f"{CPU}/cpufreq/boost": "0", LAYOUT: "0"}),
        (
            AMD,
            {
                **{f"{CPU}/cpufreq/policy{number}/scaling_governor": "performance" for number in (0, 1)},
                **{f"{CPU}/cpufreq/policy{number}/boost": "0" for number in (0, 1)},
                LAYOUT: "0",
            },
        ),
    ],
    ids=["Intel", "ACPI", "AMD"],
)
def test_settings_are_made_and_restored(machine, before: dict[str, str], after: dict[str, str]):
    root = machine(before)
    settings, problems = choose(ALL, root)
    assert problems == ()
    assert files(root) == before
    assert apply(settings) == []
    assert files(root) == {**before, **after}
    assert restore(settings) == []
    assert files(root) == before


def test_what_is_not_asked_for_is_left_alone(machine):
    assert choose(Tuning(), machine(INTEL)) == ((), ())
    (only,), problems = choose(Tuning(turbo=True), machine(INTEL))
    assert (Path(only.file).name, only.text, problems) == ("no_turbo", "0", ())


def test_what_the_machine_cannot_do_is_told_in_a_line_each(machine):
    root = machine({"proc/version": "none"})
    settings, problems = choose(ALL, root)
    assert settings == ()
    assert [line.partition(":")[0] for line in problems] == ["governor", "turbo", "aslr"]
    _, (line,) = choose(Tuning(governor="fast"), machine(ACPI))
    assert line == "governor: policy0 knows conservative, ondemand, performance, and not fast"


def test_what_the_machine_refuses_is_told_too(machine, tmp_path: Path):
    root = machine({})
    missing = Tuned(file=str(root / "none/no_turbo"), text="1", before="0")
    (line,) = apply([missing])
    assert line == f"{root}/none/no_turbo: cannot write 1: No such file or directory"
