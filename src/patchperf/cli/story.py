"""The whole story of one instance in sections, from its records alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from patchperf.cli.page import Paragraph, Section
from patchperf.cli.records import Records
from patchperf.sandbox.image_spec import ImageSpec
from patchperf.study.entry import Entry, probed, unmeasured, unprobed
from patchperf.study.probe import Probe
from patchperf.study.reproduction import Reproduction
from patchperf.study.residue import Residue
from patchperf.study.runs import Run
from patchperf.study.syscalls import DecidingCall, IoVerdict
from patchperf.study.verdicts import Verdict

SHOWN_CALLS = 10
SHOWN_NAMES = 10
SHOWN_LINES = 20
USUAL_LINK = "git apply"
OUTDATED = Paragraph(
    "outdated", "made for another version of the instance: snakemake makes it again, if it is still needed"
)


def entry_of(records: Records) -> Entry | None:
    """What the ledger says, or will say, of the instance; None while its probe is not there."""
    listed, measured = records.listed, records.measured
    if (entry := unprobed(listed.instance_id, listed.f2p, selected=listed.selected)) is not None:
        return entry
    if records.probe is None:
        return None
    if measured is not None and measured.reason and records.probe.kept:
        return unmeasured(listed.instance_id, measured.reason, measured.evidence)
    return probed(records.probe)


def missing_stage(records: Records) -> str | None:
    """What the verdict on the instance waits for, in one line; None if there is a verdict."""
    if entry_of(records) is not None:
        return None
    name = records.listed.instance_id
    stage, folder = ("probe", "probes") if records.reproduction else ("reproduce", "reproductions")
    return f"{name}: no verdict yet, results/{folder}/{name}.json is missing (stage: {stage}): snakemake makes it"


def headline(records: Records) -> str:
    """The instance and its verdict in one line."""
    entry, name = entry_of(records), records.listed.instance_id
    if entry is None:
        return f"{name}: no verdict yet"
    if entry.status == "kept":
        return f"{name}: kept"
    return f"{name}: excluded, {entry.stage}: {entry.reason}"


def story(records: Records, calls: int = SHOWN_CALLS) -> list[Section]:
    """All that is known, in the order in which it was found out, with that many of the deciding system calls."""
    sections = [_instance(records)]
    if records.reproduction is not None:
        sections += _reproduced(records, records.reproduction)
    if records.probe is not None:
        sections += _probed(records, records.probe)
    if (entry := entry_of(records)) is not None:
        sections += _verdict(records, entry, calls)
        if entry.status == "kept" or records.verdicts is not None:
            sections.append(_candidates(records))
        if entry.status == "kept" or records.solutions:
            sections.append(_case(records))
    return sections


# ---------------------------------------------------------------------------------------------- what the benchmark says


def _instance(records: Records) -> Section:
    listed, row = records.listed, records.row
    told = [Paragraph("dataset", listed.dataset), Paragraph("repository", listed.repo)]
    if row is not None:
        instance, environment = row.instance, row.environment
        more = len(instance.fail_to_pass) - SHOWN_NAMES
        told += [
            Paragraph("base commit", instance.base_commit),
            *(Paragraph("F2P test", test) for test in instance.fail_to_pass[:SHOWN_NAMES]),
            *([Paragraph("...", f"{more} more F2P tests")] if more > 0 else []),
            Paragraph("P2P tests", str(len(instance.pass_to_pass))),
        ]
        if isinstance(environment, ImageSpec):
            told.append(Paragraph("image", environment.image))
        elif environment is not None:
            requirements = _count(len(environment.pip), "requirement")
            told.append(Paragraph("environment", f"Python {environment.python}, {requirements}"))
    return Section("Instance", tuple(told))


# ------------------------------------------------------------------------------------------------------- what was run


def _reproduced(records: Records, reproduction: Reproduction) -> Iterator[Section]:
    told = [OUTDATED] if reproduction.spec != records.listed.reproduce else []
    told += _runs(reproduction.runs, prefix="ground truth, native command, ")
    told.append(Paragraph("result", f"{reproduction.reason or 'reproduced'}: {reproduction.evidence}"))
    if reproduction.unreproduced:
        told.append(Paragraph("P2P not reproduced", _some(reproduction.unreproduced)))
    yield Section("Ground truth under the native command", tuple(told))
    failed = [run for run in reproduction.runs if run.exit_code or run.ended != "exit"]
    if reproduction.reason and reproduction.runs:
        yield _output((failed or reproduction.runs)[0])


def _probed(records: Records, probe: Probe) -> Iterator[Section]:
    told = [OUTDATED] if probe.spec != records.listed.probe else []
    point = probe.single_point
    if point is not None:
        told += [
            Paragraph("test", point.test),
            Paragraph("function", f"{point.target.qualname} in {point.target.file}"),
            Paragraph("selected by", f"{point.target.runner}: {point.target.selector}"),
        ]
        if point.hidden:
            told.append(Paragraph("hidden beside it", _some(point.hidden)))
    told += _runs(probe.runs, suffix=", single point")
    if told:
        yield Section("The test as a single point", tuple(told))
    if probe.stage == "repeatability" and probe.runs:
        traced = [run for run in probe.runs if run.what.endswith("traced")]
        yield _output((traced or probe.runs)[-1])


def _runs(runs: Sequence[Run], prefix: str = "", suffix: str = "") -> list[Paragraph]:
    """Each run with how it ended, its command where it is not that of the run before."""
    told = []
    command = None
    for run in runs:
        if run.command != command:
            told.append(Paragraph("command", run.command))
            command = run.command
        tests = "" if run.tests_run is None else f", {_count(run.tests_run, 'test')}"
        what = run.what.removeprefix(prefix).removesuffix(suffix)
        told.append(Paragraph(what, f"{run.end} after {run.seconds:.1f} s{tests}"))
    return told


def _output(run: Run) -> Section:
    tail = run.tail.rstrip().splitlines()[-SHOWN_LINES:]
    return Section(f"Last lines of: {run.what}", verbatim="\n".join(tail) or "(no output)")


# ----------------------------------------------------------------------------------------------------- what came of it


def _verdict(records: Records, entry: Entry, calls: int) -> Iterator[Section]:
    told = [Paragraph(entry.status, f"stage {entry.stage}" + (f", reason {entry.reason}" if entry.reason else ""))]
    if entry.repeatability:
        told.append(Paragraph("class", entry.repeatability))
    told += [Paragraph("detail", entry.detail), Paragraph("evidence", entry.evidence)]
    probe = records.probe
    if probe is not None and probe.residue is not None:
        told += _residue(probe.residue)
    yield Section("Verdict", tuple(told))
    if probe is not None and probe.io is not None:
        yield _system_calls(probe, probe.io, calls)
        if probe.io.io:
            yield _io_lines(probe, calls)


def _residue(residue: Residue) -> list[Paragraph]:
    told = [Paragraph("residue", f"{residue.where}: {residue.evidence}")]
    counts = {"threads": residue.threads, "children": residue.children, "descriptors": residue.descriptors}
    if left := _counts({name: count for name, count in counts.items() if count > 0}):
        told.append(Paragraph("left behind", left))
    if residue.files:
        told.append(Paragraph("files changed", _some(residue.files)))
    return told


def _system_calls(probe: Probe, io: IoVerdict, calls: int) -> Section:
    told = [Paragraph("all calls", _counts(io.classes) or "none")]
    if io.deciding:
        told.append(Paragraph("deciding calls", _counts({str(kind): count for kind, count in io.kinds.items()})))
        told += _first([Paragraph(call.kind, _call(call)) for call in io.deciding], calls, probe)
    if io.exceptions:
        told.append(Paragraph("exceptions used", _counts(io.exceptions)))
    if io.unknown:
        told.append(Paragraph("unknown calls", ", ".join(io.unknown)))
    return Section("System calls of the marked call", tuple(told))


def _call(call: DecidingCall) -> str:
    result = f" = {call.result}" if call.result else ""
    return f"{call.name}({call.arguments}){result}; line {call.line} of the trace"


def _io_lines(probe: Probe, calls: int) -> Section:
    """Which lines of the test led to I/O, in a run of its own: the first call of each line, name and kind."""
    told = [
        Paragraph(f"line {one.line}" if one.line else "no line", f"{one.kind}: {one.name}({one.arguments})")
        for one in probe.io_lines
    ]
    note = probe.io_lines_note or ("" if told else "nobody looked")
    file = probe.single_point.target.file if probe.single_point is not None else "the test"
    return Section(
        f"Lines of {file} that lead to I/O",
        (*_first(told, calls, probe), *([Paragraph("not known", note)] if note else [])),
    )


def _first(told: list[Paragraph], shown: int, probe: Probe) -> list[Paragraph]:
    more = Paragraph("...", f"{len(told) - shown} more are in results/probes/{probe.instance_id}.json")
    return [*told[:shown], more] if len(told) > shown else told


# ---------------------------------------------------------------------------------------------- candidates and the case


def _candidates(records: Records) -> Section:
    title, verdicts = "Candidates", records.verdicts
    if verdicts is None:
        return Section(title, (_not_yet(f"results/grades/{records.listed.instance_id}.json"),))
    told = [OUTDATED] if verdicts.spec != records.listed.grade else []
    for source, verdict in verdicts.verdicts.items():
        told.append(Paragraph(source, _outcome(verdict, verdicts.reported.get(source))))
    return Section(title, tuple(told))


def _outcome(verdict: Verdict, reported: bool | None) -> str:
    parts: list[str] = [verdict.outcome]
    if verdict.f2p_total:
        parts.append(f"F2P {verdict.f2p_passed}/{verdict.f2p_total}, P2P {verdict.p2p_passed}/{verdict.p2p_total}")
    if verdict.solution:
        parts.append(f"solution {verdict.solution[:10]}")
    if verdict.link not in ("", USUAL_LINK):
        parts.append(f"applied by {verdict.link}")
    if reported is not None:
        parts.append(f"its authors say {'resolved' if reported else 'not resolved'}")
    if verdict.other_outcome:
        parts.append(f"{verdict.other_dialect} would say {verdict.other_outcome}")
    if verdict.note:
        parts.append(verdict.note)
    return "; ".join(parts)


def _case(records: Records) -> Section:
    title = "Case"
    if not records.solutions:
        return Section(title, (_not_yet("results/cases.parquet"),))
    told = [Paragraph(one.solution, ", ".join(one.sources)) for one in records.solutions]
    measured = records.measured
    if measured is None:
        told.append(_not_yet(f"results/measurements/{records.listed.instance_id}.json"))
    elif measured.case != records.solutions[0].case:
        told.append(OUTDATED)
    elif measured.reason:
        told.append(Paragraph("not measured", f"{measured.reason}: {measured.evidence}"))
    elif not records.statistics:
        told.append(_not_yet("results/tables/cases.csv"))
    for word, one in (("not measured", measured), ("not counted", records.counted)):
        if one is not None and one.case == records.solutions[0].case:
            told += [Paragraph(word, dropped) for dropped in one.dropped]
    told += [_metric(row) for row in records.statistics]
    return Section(title, tuple(told))


def _metric(row: Mapping[str, str]) -> Paragraph:
    verdict = "distinguishable" if row.get("distinguishable") == "True" else "not distinguishable"
    numbers = {"N": "repetitions", "k": "k", "rsd": "rsd", "p": "p"}
    told = [f"{short} = {_number(row[name])}" for short, name in numbers.items() if row.get(name)]
    text = f"{verdict} at alpha {row.get('alpha', '?')}: {', '.join(told)} ({row.get('backend', '')})"
    return Paragraph(row.get("metric", ""), text + (f"; {row['note']}" if row.get("note") else ""))


def _not_yet(file: str) -> Paragraph:
    return Paragraph("not yet", f"{file} is missing: snakemake makes it")


# --------------------------------------------------------------------------------------------------------------- words


def _number(text: str) -> str:
    return text if text.isdecimal() else f"{float(text):.4g}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=lambda one: (-one[1], one[0])))


def _some(names: Iterable[str]) -> str:
    everything = list(names)
    more = f", and {len(everything) - SHOWN_NAMES} more" if len(everything) > SHOWN_NAMES else ""
    return f"{len(everything)}: {', '.join(everything[:SHOWN_NAMES])}{more}"
