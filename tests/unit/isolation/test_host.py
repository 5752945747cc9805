from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest

from patchperf.isolation.host import host_class

X86 = "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Gold 6248R CPU @ 3.00GHz\n\n"
OLD_ARM = "Processor\t: AArch64 Processor rev 4 (aarch64)\nHardware\t: board\n"
PLAIN_ARM = "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\n"


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(platform, "machine", lambda: "m64")
    monkeypatch.setattr(platform, "processor", lambda: "")


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    ("cpuinfo", "model"),
    [
        (X86 * 64, "Intel(R) Xeon(R) Gold 6248R CPU @ 3.00GHz"),
        (OLD_ARM, "AArch64 Processor rev 4 (aarch64)"),
        (PLAIN_ARM, "unknown processor"),
        ("", "unknown processor"),
    ],
)
def test_a_host_class_has_model_number_of_cpus_and_architecture(tmp_path: Path, cpuinfo: str, model: str) -> None:
    (tmp_path / "cpuinfo").write_text(cpuinfo, "utf-8")
    assert host_class(tmp_path / "cpuinfo") == f"{model}, 64 CPUs, m64"


@pytest.mark.usefixtures("machine")
def test_a_machine_that_does_not_tell_its_processor_is_named_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert host_class(tmp_path / "absent") == "unknown processor, 64 CPUs, m64"
    monkeypatch.setattr(platform, "processor", lambda: "riscv")
    assert host_class(tmp_path / "absent") == "riscv, 64 CPUs, m64"


def test_this_machine_has_one_class() -> None:
    assert host_class() == host_class()
    assert host_class().endswith(f" {os.cpu_count()} CPUs, {os.uname().machine}")
