"""CPUs of systemd's units: it has to be asked, or it would write over what it was not told.

``AllowedCPUs`` is set for this boot only: systemd keeps it in a file below /run/systemd/system.control, which is
removed again if it was not there before.
"""

from __future__ import annotations

import subprocess
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from patchperf.errors import MachineError
from patchperf.isolation.state import Confined

_RUNNING = Path("/run/systemd/system")
_DROP_INS = Path("/run/systemd/system.control")
_UNITS = (".slice", ".scope", ".service")
_WITHOUT_PROCESSES = (".mount", ".socket", ".swap", ".automount")
_SECONDS = 60


def running() -> bool:
    """Whether systemd is the machine's first process, as sd_booted(3) tells it."""
    return _RUNNING.is_dir()


def is_unit(group: str) -> bool:
    """Whether systemd makes and writes a control group; what is below a service is the service's own."""
    *above, name = PurePosixPath(group).parts
    return name.endswith(_UNITS) and not any(one.endswith(".service") for one in above)


def is_idle_unit(group: str) -> bool:
    """Whether a control group is of a kind of unit that has no processes of its own."""
    return group.endswith(_WITHOUT_PROCESSES)


def allowed_cpus(unit: str) -> str:
    """The CPUs that a unit is kept to, in the kernel's list format; empty where it is not."""
    return ",".join(_systemctl("show", "--property=AllowedCPUs", "--value", unit).split())


def has_drop_in(unit: str) -> bool:
    """Whether CPUs of a unit are set for this boot."""
    return _drop_in(unit).exists()


def allow(unit: str, cpus: str) -> None:
    """Keep a unit to some CPUs from now on until the machine is turned off; raises MachineError."""
    _systemctl("set-property", "--runtime", unit, f"AllowedCPUs={cpus}")


def restore(confined: Collection[Confined]) -> list[str]:
    """Give units back the CPUs they had; what could not be done, in a line each (a unit that is gone needs nothing)."""
    problems = []
    removed = False
    for one in confined:
        unit = PurePosixPath(one.group).name
        try:
            allow(unit, one.unit_before or "")
        except MachineError as error:
            if _systemctl("is-active", unit, codes=(0, 3, 4)) == "active":
                problems.append(str(error))
        if not one.drop_in:
            file = _drop_in(unit)
            removed |= file.exists()
            file.unlink(missing_ok=True)
            with suppress(OSError):
                file.parent.rmdir()
    if removed:
        _systemctl("daemon-reload")
    return problems


def _drop_in(unit: str) -> Path:
    return _DROP_INS / f"{unit}.d" / "50-AllowedCPUs.conf"


def _systemctl(*words: str, codes: Sequence[int] = (0,)) -> str:
    try:
        done = subprocess.run(
            ["systemctl", "--no-ask-password", *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MachineError(f"systemctl {' '.join(words)}: {error}") from None
    if done.returncode not in codes:
        said = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise MachineError(f"systemctl {' '.join(words)}: {said}")
    return done.stdout.strip()
