from __future__ import annotations

from pathlib import Path

import pytest

from patchperf.counters.hardware import distrust_hardware, kinds_of_cores
from patchperf.counters.protocol import Count


@pytest.fixture
def devices(tmp_path: Path):
    """Makes a folder of counting units like the kernel's: name of the unit, files in its folder."""

    def make(**units: dict[str, str]) -> Path:
        for unit, files in units.items():
            (tmp_path / unit).mkdir()
            for name, text in files.items():
                (tmp_path / unit / name).write_text(text)
        return tmp_path

    return make


HYBRID = {
    "cpu_core": {"cpus": "0-15\n", "type": "4\n"},
    "cpu_atom": {"cpus": "16-23\n", "type": "10\n"},
    "uncore_imc_0": {"cpumask": "0\n"},
    "software": {"type": "1\n"},
}


def reading(running: int) -> Count:
    return Count(backend="perf", value=9, time_enabled_ns=50, time_running_ns=running, events=1, problem=None)


def test_a_hybrid_processor_has_a_counting_unit_for_each_kind_of_core(devices):
    assert kinds_of_cores(devices(**HYBRID)) == {"cpu_core": "0-15", "cpu_atom": "16-23"}


def test_cores_of_big_and_little_kind_are_told_apart(devices):
    units = {"armv8_cortex_a53": {"cpus": "0,3-5\n"}, "armv8_cortex_a57": {"cpus": "1-2\n"}}
    assert kinds_of_cores(devices(**units)) == {"armv8_cortex_a53": "0,3-5", "armv8_cortex_a57": "1-2"}


def test_a_processor_with_equal_cores_names_none(devices):
    assert kinds_of_cores(devices(cpu={"type": "4\n"}, uncore_imc_0={"cpumask": "0\n"})) == {}


def test_a_reading_off_the_hardware_names_the_kinds_of_cores(devices):
    assert distrust_hardware("perf", reading(running=30), devices(**HYBRID)) == (
        "counter-multiplexed: running 30 of 50 ns enabled; cores of several kinds have counters of their own "
        "(cpu_atom counts on CPUs 16-23, cpu_core counts on CPUs 0-15): run on CPUs of one kind only"
    )


def test_a_reading_that_was_always_on_the_hardware_is_good_on_any_processor(devices):
    assert distrust_hardware("perf", reading(running=50), devices(**HYBRID)) is None


def test_where_all_cores_are_equal_there_is_no_word_of_their_kinds(devices):
    one = devices(armv8_pmuv3={"cpus": "0-3\n"})
    assert distrust_hardware("perf", reading(running=30), one) == "counter-multiplexed: running 30 of 50 ns enabled"


def test_a_machine_that_lists_no_counting_units_is_no_error(tmp_path):
    assert kinds_of_cores(tmp_path / "absent") == {}
