"""Settings of the whole machine that make runs alike: frequency governor, turbo, address layout. Always restored.

Governors are those of the kernel's cpufreq. Turbo has several places: ``intel_pstate/no_turbo`` (Intel), one
``cpufreq/boost`` (acpi-cpufreq, AMD), or a ``boost`` of each policy (amd-pstate). What cannot be set is told in a line
each, and nothing else is given up for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from patchperf.isolation.state import Tuned, Tuning

ROOT = Path("/")
_CPU = Path("sys/devices/system/cpu")
_NO_TURBO = _CPU / "intel_pstate/no_turbo"
_BOOST = _CPU / "cpufreq/boost"
_LAYOUT = Path("proc/sys/kernel/randomize_va_space")
_LAYOUTS = {"off": "0", "on": "2"}


def choose(tuning: Tuning, root: Path = ROOT) -> tuple[tuple[Tuned, ...], tuple[str, ...]]:
    """What to write to which files below ``root`` and what is there before; and what cannot be done, a line each."""
    settings: list[Tuned] = []
    problems: list[str] = []
    for wanted in (_governor(tuning, root), _turbo(tuning, root), _layout(tuning, root)):
        for one in wanted:
            (problems if isinstance(one, str) else settings).append(one)  # type: ignore[arg-type]
    return tuple(settings), tuple(problems)


def apply(settings: Collection[Tuned]) -> list[str]:
    """Write them; what the machine refuses, a line each."""
    return list(filter(None, (_write(Path(one.file), one.text) for one in settings)))


def restore(settings: Collection[Tuned]) -> list[str]:
    """Write what was there before, the last one first; what the machine refuses, a line each."""
    ours = [one for one in reversed(tuple(settings)) if _text(Path(one.file)) != one.before]
    return list(filter(None, (_write(Path(one.file), one.before) for one in ours)))


def _governor(tuning: Tuning, root: Path) -> Iterator[Tuned | str]:
    if tuning.governor is None:
        return
    policies = _policies(root)
    if not policies:
        yield f"governor: this kernel has no frequencies to govern here ({root / _CPU}/cpufreq has no policies)"
    for policy in policies:
        known = _text(policy / "scaling_available_governors").split()
        if known and tuning.governor not in known:
            yield f"governor: {policy.name} knows {', '.join(known)}, and not {tuning.governor}"
        else:
            yield _setting(policy / "scaling_governor", tuning.governor)


def _turbo(tuning: Tuning, root: Path) -> Iterator[Tuned | str]:
    if tuning.turbo is None:
        return
    of_policies = [policy / "boost" for policy in _policies(root) if (policy / "boost").exists()]
    if (root / _NO_TURBO).exists():
        yield _setting(root / _NO_TURBO, str(int(not tuning.turbo)))
    elif (root / _BOOST).exists():
        yield _setting(root / _BOOST, str(int(tuning.turbo)))
    elif of_policies:
        yield from (_setting(file, str(int(tuning.turbo))) for file in of_policies)
    else:
        yield "turbo: this kernel cannot switch it here (neither intel_pstate/no_turbo nor cpufreq/boost)"


def _layout(tuning: Tuning, root: Path) -> Iterator[Tuned | str]:
    if tuning.aslr is None:
        return
    file = root / _LAYOUT
    yield _setting(file, _LAYOUTS[tuning.aslr]) if file.exists() else f"aslr: there is no {file}"


def _policies(root: Path) -> list[Path]:
    return sorted((root / _CPU / "cpufreq").glob("policy*"), key=lambda policy: int(policy.name[6:]))


def _setting(file: Path, text: str) -> Tuned:
    return Tuned(file=str(file), text=text, before=_text(file))


def _text(file: Path) -> str:
    try:
        return file.read_text("ascii").strip()
    except OSError:
        return ""


def _write(file: Path, text: str) -> str:
    """Write a setting; what is wrong, in a line, where the machine does not take it."""
    try:
        file.write_text(f"{text}\n", "ascii")
    except OSError as error:
        return f"{file}: cannot write {text}: {error.strerror}"
    return "" if _text(file) == text else f"{file}: is {_text(file)} after {text} was written"
