"""Numbers as words: the lines that people read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from snakemake_logger_plugin_patchperf.events import Failed
from snakemake_logger_plugin_patchperf.progress import Overall, StageView
from snakemake_logger_plugin_patchperf.stages import stage_of

SHOWN_STEPS = 3
SHOWN_FAILURES = 10
NAME_WIDTH = 14


def duration(seconds: float) -> str:
    """A time span in words, coarser the longer it is: ``40 s``, ``3 min 20 s``, ``12 min``, ``2 h 5 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 10:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(round(whole / 60), 60)
    if not hours:
        return f"{minutes} min"
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def left(seconds: float) -> str:
    """An estimate in words, never more exact than it can be."""
    if seconds < 10:
        return "less than 10 s left"
    if seconds < 50:
        return f"about {math.ceil(seconds / 10) * 10} s left"
    minutes = math.ceil(seconds / 60 - 0.25)
    if minutes < 60:
        return f"about {minutes} min left"
    return f"about {duration(60 * 5 * round(minutes / 5))} left"


def clock(seconds: float) -> str:
    """Time since the start as ``0:04:10``."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}"


def count(view: StageView) -> str:
    """How many of how many, e.g. ``3/11 cases``."""
    number = f"{view.done} done" if view.total is None else f"{view.done}/{view.total}"
    return f"{number} {view.stage.unit}" if view.stage.unit and view.total is not None else number


def note(view: StageView) -> str:
    """What is to be said of a stage beside its count."""
    parts = [f"{view.failed} failed"] if view.failed else []
    if view.complete:
        parts.append(f"in {duration(view.seconds)}")
    elif view.running:
        parts.append(f"{view.running} running")
        if view.left is not None:
            parts.append(left(view.left))
        parts += [f"{subject} {step.done} of {step.total}" for subject, step in view.steps[:SHOWN_STEPS]]
    else:
        parts.append("waiting")
    return " · ".join(parts)


def stage_line(view: StageView, elapsed: float) -> str:
    """One line about a stage, e.g. ``0:04:10  measurements   3/11 cases · 2 running · about 4 min left``."""
    return f"{clock(elapsed)}  {view.stage.name:<{NAME_WIDTH}} {count(view)} · {note(view)}"


def overall_line(overall: Overall) -> str:
    """One line about the whole run; says which stages will add jobs that are not counted yet."""
    failed = f" · {overall.failed} failed" if overall.failed else ""
    return f"{clock(overall.seconds)}  {overall.done}/{jobs(overall.total)}{failed}{_growth(overall)}"


def _growth(overall: Overall) -> str:
    if overall.open_checkpoints is None:
        return " known so far"
    if not overall.open_checkpoints:
        return ""
    names = ", ".join(stage_of(rule).name for rule in overall.open_checkpoints)
    return f" known so far; more follow from {names}"


def summary(overall: Overall, failures: Sequence[str], interrupted: bool = False) -> str:
    """The last line of a run: all is done, or what failed, how much was not run, and how to go on."""
    took = duration(overall.seconds)
    missing = max(overall.total - overall.done - len(failures), 0)
    if not failures and not missing:
        return f"all {jobs(overall.done)} done in {took}"
    ended = f"{jobs(overall.done)} of {overall.total} done in {took}"
    parts = ["interrupted" if interrupted else "stopped"] if interrupted or not failures else []
    if failures:
        more = ", …" if len(failures) > SHOWN_FAILURES else ""
        parts.append(f"{len(failures)} failed: {', '.join(failures[:SHOWN_FAILURES])}{more}")
    return "; ".join([*parts, ended, "the same command continues"])


def jobs(number: int) -> str:
    """A number of jobs in words."""
    return "1 job" if number == 1 else f"{number} jobs"


def job_name(rule: str, wildcards: Mapping[str, str]) -> str:
    """A job by its rule and what it is about, e.g. ``measure sympy__sympy-12345``; digests are cut."""
    return " ".join([rule, *(value[:12] if name == "digest" else value for name, value in wildcards.items())])


def reason(log: Sequence[str]) -> str | None:
    """What a job's log says in its last line, after "error: ", of why the job has failed; None if it says no such."""
    start = "error: "
    return printable(log[-1].removeprefix(start)) if log and log[-1].startswith(start) else None


def failure(failed: Failed, wildcards: Mapping[str, str], logs: Mapping[str, Sequence[str]]) -> str:
    """A failed job: one line with its name and the reason that a log gives, and where the log is.

    Without such a reason, in full: its rule and wildcards, what executor and command say, its ``logs`` (path: last
    lines).
    """
    said = next(filter(None, map(reason, logs.values())), None)
    if said is not None:
        return "\n".join([f"error: {job_name(failed.rule, wildcards)}: {said}", *(f"  log: {path}" for path in logs)])
    about = ", ".join(f"{name}={value}" for name, value in wildcards.items())
    lines = [f"error: {failed.rule} failed" + (f" for {about}" if about else "")]
    lines += [f"  {name}: {value}" for name, value in failed.details.items()]
    if failed.command:
        lines.append(f"  command: {failed.command.strip()}")
    for path, content in logs.items():
        lines.append(f"  log: {path}")
        lines += [f"    | {printable(line)}" for line in content]
    return "\n".join(lines)


def printable(line: str) -> str:
    """A line of foreign text without anything that could steer a terminal."""
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in line.expandtabs()
    )
