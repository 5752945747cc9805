"""The whole embedded study by the documented command, from its inputs to the report: what it says, and is it so."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from studies import MINI, ROOT, Run, Study, make_study, mini_settings

from patchperf.measure import schedule

EXPECTED: dict[str, Any] = json.loads((MINI / "expected.json").read_text("utf-8"))
SOURCES = ("atlas", "birch", "cedar", "dune")
TABLES = (
    "funnel",
    "repeatability",
    "io",
    "ledger",
    "sources",
    "outcomes",
    "agreement",
    "solutions",
    "warmth",
    "cases",
    "pairs",
    "speedups",
    "champions",
)
FIGURES = ("funnel", "io", "outcomes", "repetitions", "noise", "significance", "speedups", "ratios", "champions")
KEPT = sorted(name for name, (status, _) in EXPECTED["ledger"].items() if status == "kept")

FLAKY = "fernbank__trellis-33"
FLAKY_REASONS = {"ground-truth-flaky", "ground-truth-fails", "depends-on-other-tests", "not-repeatable"}
"""Its ground truth fails now and then; where it is lucky three times, the instance is excluded a step later."""

REASONS = {
    "": "",
    "several-f2p-tests": "single-test",
    "ground-truth-flaky": "not-reproducible",
    "depends-on-other-tests": "not-single-point",
}
"""The ledger's reasons in the words of the expectations, where these differ."""

MUCH_SLOWER = {
    "abacus-lab__minalg-15": "atlas",
    "fernbank__trellis-12": "atlas",
    "fernbank__trellis-41": "atlas",
    "harbour-works__quayside-34": "atlas",
}
"""Cases in which one source's algorithm takes several times as long as all others."""


@dataclass(frozen=True)
class Finished:
    """The study after its first run."""

    study: Study
    run: Run

    def table(self, name: str) -> pd.DataFrame:
        """A table of the results."""
        return pd.read_csv(self.study.result(f"tables/{name}.csv"), keep_default_na=False, na_values={"value": [""]})

    def record(self, path: str) -> dict[str, Any]:
        """A JSON record of the results."""
        content: dict[str, Any] = json.loads(self.study.result(path).read_bytes())
        return content

    @property
    def measurements(self) -> pd.DataFrame:
        """All measurements."""
        return pd.read_parquet(self.study.result("measurements.parquet"))

    @property
    def backends(self) -> dict[str, str]:
        """Metrics that this machine has, with their backends."""
        counter = self.record("host.json")["counter"]["backend"]
        clock = {"wall_ns": "perf_counter_ns"}
        return clock if counter == "none" else {"instructions": counter, **clock}


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, cache: str) -> Finished:
    settings = mini_settings(calibration={"min_seconds": 0.02, "max_seconds": 0.04}, cache=cache)
    study = make_study(tmp_path_factory.mktemp("mini") / "study", settings)
    return Finished(study, study.snakemake())


def test_the_documented_command_runs_it_to_its_report(finished: Finished) -> None:
    assert finished.run.code == 0, finished.run.output
    assert finished.study.result("report.html").exists()


def test_the_ledger_is_as_expected(finished: Finished) -> None:
    ledger = finished.table("ledger")
    assert sorted(ledger.instance_id) == sorted(EXPECTED["ledger"])
    said = {
        row.instance_id: [row.status, REASONS.get(row.reason, row.reason)]
        for row in ledger.itertuples()
        if row.instance_id != FLAKY
    }
    assert said == {name: verdict for name, verdict in EXPECTED["ledger"].items() if name != FLAKY}
    flaky = ledger[ledger.instance_id == FLAKY].iloc[0]
    assert flaky.status == "excluded"
    assert flaky.reason in FLAKY_REASONS


def test_every_exclusion_has_one_reason_and_its_evidence(finished: Finished) -> None:
    ledger = finished.table("ledger")
    assert ledger.instance_id.is_unique
    assert set(ledger.status) == {"kept", "excluded"}
    assert ((ledger.status == "kept") == (ledger.reason == "")).all()
    assert (ledger.detail != "").all()
    assert all((finished.study.folder / path).is_file() for path in ledger.evidence)


def test_the_funnel_adds_up(finished: Finished) -> None:
    ledger, funnel = finished.table("ledger"), finished.table("funnel")
    sizes = {"mini": 16, "mini-live": 3}
    assert set(funnel.dataset) == set(sizes)
    for dataset, steps in funnel.groupby("dataset", sort=False):
        rows = ledger[ledger.dataset == dataset]
        left = sizes[str(dataset)]
        assert len(rows) == left
        for step in steps.itertuples():
            excluded = rows[(rows.stage == step.filter) & (rows.status == "excluded")]
            left -= len(excluded)
            assert (step.removed, step.left) == (len(excluded), left)
        assert left == (rows.status == "kept").sum()


def test_outcomes_are_as_expected(finished: Finished) -> None:
    outcomes = finished.table("outcomes")
    said = {
        name: {row.source: row.outcome for row in rows.itertuples() if row.source != "ground_truth"}
        for name, rows in outcomes.groupby("instance_id")
    }
    flaky = said.pop(FLAKY)
    assert said == {name: verdicts for name, verdicts in EXPECTED["outcomes"].items() if name != FLAKY}
    assert flaky["birch"] in {"infrastructure failure", "No-Op"}
    truths = outcomes[(outcomes.source == "ground_truth") & (outcomes.instance_id != FLAKY)]
    assert set(truths.outcome) == {"Resolved"}


def test_outcomes_rest_on_the_tests_passed(finished: Finished) -> None:
    outcomes = finished.table("outcomes")
    judged = outcomes[outcomes.outcome.isin(["Resolved", "Breaking Resolved", "No-Op", "Regression"])]
    all_f2p = judged.f2p_passed.astype(int) == judged.f2p_total.astype(int)
    all_p2p = judged.p2p_passed.astype(int) == judged.p2p_total.astype(int)
    assert (all_f2p == judged.outcome.isin(["Resolved", "Breaking Resolved"])).all()
    assert (all_p2p == judged.outcome.isin(["Resolved", "No-Op"])).all()
    by_dataset = finished.table("ledger").set_index("instance_id").dataset
    assert set(zip(outcomes.instance_id.map(by_dataset), outcomes.dialect, strict=True)) == {
        ("mini", "swe-bench"), ("mini-live", "swe-bench-live"),
    }  # fmt: skip


def test_the_one_wrong_claim_of_the_authors_is_found(finished: Finished) -> None:
    agreement = finished.table("agreement")
    wrong = agreement[(agreement.agrees == False) & (agreement.instance_id != FLAKY)]  # noqa: E712
    assert wrong[["instance_id", "source"]].to_numpy().tolist() == [["harbour-works__quayside-13", "dune"]]


def test_solutions_are_grouped_as_expected(finished: Finished) -> None:
    cases = pd.read_parquet(finished.study.result("cases.parquet"))
    groups = {name: {frozenset(sources) for sources in rows.sources} for name, rows in cases.groupby("instance_id")}
    assert groups == {name: set(map(frozenset, sources)) for name, sources in EXPECTED["solutions"].items()}


def test_in_every_kept_case_the_ground_truth_passed_and_the_base_failed(finished: Finished) -> None:
    for name in KEPT:
        probe = finished.record(f"probes/{name}.json")
        codes = {run["what"]: run["exit_code"] for run in probe["runs"]}
        assert codes["ground truth, single point"] == 0
        assert codes["base, single point"] != 0
        reproduction = finished.record(f"reproductions/{name}.json")
        assert [run["exit_code"] for run in reproduction["runs"]] == [0, 0, 0]
        assert not probe["io"]["io"]


def test_every_solution_is_measured_five_times_in_five_processes(finished: Finished) -> None:
    measured = finished.measurements
    assert sorted(set(measured.instance_id)) == KEPT
    for _, rows in measured.groupby(["instance_id", "metric"]):
        valid = rows[~rows.void]
        assert valid.pid.is_unique
        assert {tuple(sorted(one.replicate)) for _, one in valid.groupby("solution")} == {(0, 1, 2, 3, 4)}


def test_a_void_replicate_is_explained(finished: Finished) -> None:
    measured = finished.measurements
    assert (measured[measured.void].reason != "").all()
    assert (measured[~measured.void].reason == "").all()
    assert measured[~measured.void].value.gt(0).all()


def test_warm_up_and_repetitions_are_in_the_records_and_the_same_for_a_case(finished: Finished) -> None:
    measured = finished.measurements
    assert set(measured.warmup) == {10}
    assert (measured.groupby("instance_id").repetitions.nunique() == 1).all()
    assert (measured.repetitions >= 1).all()
    assert (measured.groupby("instance_id").anchor.sum() == 5 * len(finished.backends)).all()


def test_conditions_are_the_same_for_all_solutions_of_a_round(finished: Finished) -> None:
    measured = finished.measurements
    assert (measured.hash_seed == measured.replicate).all()
    assert (measured.layout == measured.replicate).all()
    rounds = measured[~measured.void].groupby(["instance_id", "replicate"])
    started_with = ("environment_bytes", "environment_crc32", "arguments_bytes", "arguments_crc32")
    for condition in ("hash_seed", "padding_bytes", *started_with, "python", "confinement"):
        assert (rounds[condition].nunique() == 1).all(), condition
    assert measured.groupby("replicate").padding_bytes.nunique().eq(1).all()
    assert measured.padding_bytes.nunique() == 5


def test_the_order_follows_from_the_seed(finished: Finished) -> None:
    for name, rows in finished.measurements.groupby("instance_id"):
        slots = schedule.order(sorted(set(rows.solution)), 5, 1, str(name))
        told = set(zip(rows.order, rows.replicate, rows.solution, strict=True))
        assert told == {(slot.order, slot.replicate, slot.solution) for slot in slots}
        in_time = rows[~rows.void].sort_values("started_at")
        assert in_time.order.is_monotonic_increasing


def test_variables_of_every_command_are_told_once_for_the_machine(finished: Finished) -> None:
    told = finished.record("host.json")["environment"]
    assert {name: told[name] for name in ("LANG", "LC_ALL", "TZ")} == {
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }
    pools = {value for name, value in told.items() if name not in ("LANG", "LC_ALL", "TZ")}
    assert pools == {str(min(4, len(os.sched_getaffinity(0))))}


def test_every_solution_has_its_first_call_beside_its_repetitions(finished: Finished) -> None:
    warmth, measured = finished.table("warmth"), finished.measurements
    promised = ["first_call_ns", "second_call_ns", "per_repetition_ns", "ratio", "collapsed"]
    assert set(promised) <= set(warmth.columns)
    assert len(warmth) == sum(len(groups) for groups in EXPECTED["solutions"].values())
    native = measured[(measured.metric == "wall_ns") & ~measured.void]
    for row in warmth.itertuples():
        mine = native[(native.instance_id == row.instance_id) & (native.solution == row.solution)]
        assert row.clock == "perf_counter_ns"
        assert row.first_call_ns == mine.first_call_ns.median()
        assert row.per_repetition_ns == pytest.approx((mine.value / mine.repetitions).median())
        assert row.ratio == pytest.approx(row.per_repetition_ns / (row.first_call_ns - row.first_call_import_ns))


def test_a_case_is_collapsed_where_one_of_its_solutions_is(finished: Finished) -> None:
    expected = finished.table("warmth").groupby("instance_id").collapsed.any()
    cases = finished.table("cases")
    assert (cases.collapsed == cases.instance_id.map(expected)).all()
    assert set(cases[cases.metric == "wall_ns"].not_covered) == {""}


def test_cases_have_the_promised_columns_one_row_for_each_metric(finished: Finished) -> None:
    cases = finished.table("cases")
    promised = ["instance_id", "metric", "backend", "k", "rsd", "f", "df1", "df2", "p", "distinguishable"]
    assert set(promised) <= set(cases.columns)
    assert {tuple(row) for row in cases[["metric", "backend"]].to_numpy()} == set(finished.backends.items())
    assert len(cases) == len(KEPT) * len(finished.backends)
    assert dict(zip(cases.instance_id, cases.k, strict=True)) == {
        name: len(groups) for name, groups in EXPECTED["solutions"].items()
    }


@pytest.mark.parametrize(("instance", "slow"), MUCH_SLOWER.items())
def test_clearly_different_speeds_are_told_apart(finished: Finished, instance: str, slow: str) -> None:
    cases, solutions = finished.table("cases"), finished.table("solutions")
    assert cases[cases.instance_id == instance].distinguishable.all()
    for _, rows in solutions[solutions.instance_id == instance].groupby("metric"):
        assert slow in rows.set_index("sources")["mean"].idxmax().split()


def test_pairs_are_ratios_of_means_and_one_for_shared_solutions(finished: Finished) -> None:
    pairs = finished.table("pairs")
    assert (pairs.ratio - pairs.mean_i / pairs.mean_j).abs().lt(1e-9 * pairs.ratio).all()
    assert ((pairs.solution_i == pairs.solution_j) == pairs.same_solution).all()
    assert (pairs[pairs.same_solution].ratio == 1).all()
    resolved = finished.table("outcomes").query("outcome == 'Resolved'").groupby("instance_id").source.count()
    expected = sum(resolved[name] * (resolved[name] - 1) // 2 for name in KEPT)
    assert len(pairs) == expected * len(finished.backends)


def test_speedups_have_both_orientations(finished: Finished) -> None:
    speedups = finished.table("speedups")
    promised = ["metric", "setting", "source_i", "source_j", "n", "geometric_mean", "low", "high"]
    assert set(promised) <= set(speedups.columns)
    assert set(speedups.setting) == {"full", "distinguishable"}
    means = speedups.set_index(["metric", "setting", "source_i", "source_j"]).geometric_mean.astype(float)
    for (metric, setting, first, second), mean in means.items():
        assert mean * means[metric, setting, second, first] == pytest.approx(1)
    full = speedups[(speedups.setting == "full") & (speedups.source_i == "atlas") & (speedups.source_j == "cedar")]
    assert set(full.n) == {7}


def test_every_case_has_one_vote(finished: Finished) -> None:
    champions, cases = finished.table("champions"), finished.table("cases")
    assert set(champions.source) == {*SOURCES, "ground_truth"}
    for (metric, setting), rows in champions.groupby(["metric", "setting"]):
        voting = cases[cases.metric == metric]
        voting = voting[voting.distinguishable] if setting == "distinguishable" else voting
        assert rows.votes.sum() == pytest.approx(len(voting))
        assert set(rows.cases) == {len(voting)}


def test_every_table_is_there_as_csv_and_latex(finished: Finished) -> None:
    for name in TABLES:
        assert len(finished.table(name)) > 0
        text = finished.study.result(f"tables/{name}.tex").read_text("utf-8")
        assert text.count("\\begin{") == text.count("\\end{")
        assert all(rule in text for rule in ("\\toprule", "\\midrule", "\\bottomrule", "\\caption{", "\\label{"))


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX here to set the tables with")
def test_latex_sets_every_table(finished: Finished, tmp_path: Path) -> None:
    tables = "".join(f"\\input{{{finished.study.result(f'tables/{name}.tex')}}}\n\\clearpage\n" for name in TABLES)
    preamble = "\\documentclass{article}\n\\usepackage[T1]{fontenc}\n\\usepackage{booktabs,longtable}\n"
    (tmp_path / "tables.tex").write_text(preamble + f"\\begin{{document}}\n{tables}\\end{{document}}\n", "utf-8")
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "tables.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, errors="replace")
    assert done.returncode == 0, done.stdout[-3000:]


def test_every_figure_is_there_as_pdf_and_svg(finished: Finished) -> None:
    for name in FIGURES:
        assert finished.study.result(f"figures/{name}.pdf").read_bytes().startswith(b"%PDF-")
        drawing = ET.parse(finished.study.result(f"figures/{name}.svg")).getroot()
        assert drawing.tag == "{http://www.w3.org/2000/svg}svg"
        assert len(list(drawing.iter())) > 20


def test_findings_name_metric_and_backend(finished: Finished) -> None:
    findings = finished.record("findings.json")
    told = {metric["metric"]: metric["backend"] for metric in findings["metrics"]}
    assert told == finished.backends
    assert set(findings["not_measured"]) == {"instructions", "wall_ns"} - finished.backends.keys()
    assert set(findings["findings"]) == {"2.1", "2.2", "2.3"}
    evidence = [one for finding in findings["findings"].values() for one in finding["evidence"]]
    assert {(one["metric"], one["backend"]) for one in evidence} == set(finished.backends.items())
    (live,) = [one for one in findings["datasets"] if one["dataset"] == "mini-live"]
    assert (live["instances"], live["kept"]) == (3, 1)


def test_a_machine_without_a_counter_is_told_loudly(finished: Finished) -> None:
    counter = finished.record("host.json")["counter"]
    loud = "NO INSTRUCTION COUNTS, WALL TIME ONLY"
    assert (counter["backend"] == "none") == counter["reason"].startswith(loud)
    assert (loud in finished.run.output) == (counter["backend"] == "none")
    for name in ("solutions", "cases", "pairs", "speedups", "champions"):
        assert dict(finished.table(name)[["metric", "backend"]].to_numpy()) == finished.backends


def test_the_report_needs_no_network(finished: Finished) -> None:
    report = finished.study.result("report.html").read_text("utf-8")
    loaded = re.findall(r"<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)\s*=\s*[\"']?(?:https?:)?//[^>]*>", report)
    assert loaded == []
    assert not re.search(r"<script[^>]*\bsrc=", report)
    assert not re.search(r"@import\s+(?:url\()?[\"']?(?:https?:)?//", report)


def test_the_report_has_every_table_and_figure_with_its_caption(finished: Finished) -> None:
    report = finished.study.result("report.html").read_text("utf-8")
    plain = " ".join(html.unescape(re.sub(r"<[^>]*>", "", report.replace("\\n", " "))).split())
    for caption in sorted((ROOT / "report" / "captions").glob("*.rst")):
        words = re.sub(r"[*`]", "", caption.read_text("utf-8").partition("{{")[0]).split()
        beginning = " ".join(words[:12])
        assert beginning in plain, caption
    for name in [f"{table}.csv" for table in TABLES] + [f"{figure}.svg" for figure in FIGURES] + ["findings.json"]:
        assert f'"name": "{name}"' in report


def test_a_second_run_does_nothing(finished: Finished) -> None:
    files = [path for path in finished.study.result("").rglob("*") if path.is_file()]
    before = {path: path.stat().st_mtime_ns for path in files}
    again = finished.study.snakemake()
    assert again.code == 0, again.output
    assert not again.started
    assert "Nothing to be done" in again.output
    after = {path: path.stat().st_mtime_ns for path in finished.study.result("").rglob("*") if path.is_file()}
    assert after == before
