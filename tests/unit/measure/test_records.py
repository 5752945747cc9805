from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest
from small_cases import DIGEST

from patchperf.counters.preflight import COUNTERS
from patchperf.counters.protocol import Count, Emulation
from patchperf.measure.calibration import Window
from patchperf.measure.case import CasePlan, Solution
from patchperf.measure.emulated import Emulated
from patchperf.measure.records import Record, count_of, records_of, to_frame

EMULATION = Emulation(emulator="qemu-x86_64 7.2", cpu="Haswell-v4", lacking=("avx512",))


class EmulatedPlan(CasePlan):
    """A plan whose simulator is prepared without its programs."""

    @property
    def emulated(self):
        return Emulated(self.counter, Path(), EMULATION)


def plan(backend="perf", kind=CasePlan) -> CasePlan:
    return kind(
        instance_id="x__y-1",
        digest=DIGEST,
        solutions=(Solution("a", ("ground_truth", "model"), Path(), "tree"),),
        argv=(),
        environment={},
        passed=lambda _: None,
        warmup=2,
        window=Window(min_seconds=4, max_seconds=8),
        replicates=1,
        attempts=1,
        seed=1,
        timeout=60,
        counter=COUNTERS[backend],
    )


@pytest.fixture
def make_records(make_entry):
    def make(backend="perf", **changes):
        return records_of(make_entry(**changes), plan=plan(backend), anchor="a", clock="perf_counter_ns")

    return make


def test_a_replicate_is_one_row_per_metric_with_its_own_backend(make_records):
    rows = {record.metric: (record.value, record.backend) for record in make_records()}
    assert rows == {"wall_ns": (5e9, "perf_counter_ns"), "instructions": (4321, "perf")}


def test_without_a_counter_there_is_wall_time_only(make_records):
    assert [record.metric for record in make_records(backend="none")] == ["wall_ns"]


def test_conditions_of_the_loop_are_differences_between_its_ends(make_records):
    record = make_records()[0]
    assert (record.involuntary_switches, record.minor_faults, record.voluntary_switches) == (10, 30, 0)
    assert (record.user_seconds, record.system_seconds, record.steal_seconds) == (1.0, 0.0, 0.5)
    assert (record.cgroup, record.cpus_allowed) == ("1:cpu:/a;0::/b", "0-1")


def test_seconds_spent_are_told_apart(make_records):
    record = make_records()[0]
    assert (record.process_seconds, record.startup_seconds, record.warmup_seconds) == (6.0, 0.2, 0.004)
    assert (record.loop_seconds, record.harness_seconds, record.host_seconds) == (5.0, 0.02, 0.1)


def test_the_pid_is_the_hosts_where_the_kernel_tells_it(make_records):
    assert (make_records()[0].pid, make_records()[0].namespace_pid) == (4567, 3)
    assert (make_records(pid=None)[0].pid, make_records(pid=None)[0].namespace_pid) == (3, 3)


@pytest.mark.parametrize(("seconds", "position"), [(3.9, "below"), (4.0, "inside"), (8.1, "above")])
def test_a_loop_outside_the_window_is_flagged(make_records, make_report, seconds, position):
    records = make_records(report=make_report(wall_ns=int(seconds * 1e9)))
    assert {record.window_position for record in records} == {position}


def test_a_void_replicate_without_a_report_keeps_its_rows(make_records):
    frame = to_frame(make_records(void="timeout: stopped after 9.0 s", report=None, pid=None))
    assert frame["void"].all()
    assert set(frame["reason"]) == {"timeout: stopped after 9.0 s"}
    assert set(frame["metric"]) == {"wall_ns", "instructions"}
    assert frame["value"].isna().all()
    assert frame["pid"].isna().all()


def test_types_are_the_same_with_rows_and_without(make_records, tmp_path):
    full, empty = to_frame(make_records()), to_frame([])
    assert list(empty.columns) == list(Record.model_fields) == list(full.columns)
    assert dict(full.dtypes) == dict(empty.dtypes)
    assert full.dtypes["repetitions"] == "int64"
    assert full.dtypes["value"] == "float64"
    assert full.dtypes["void"] == "bool"
    assert full.dtypes["pid"] == "Int64"
    assert full.dtypes["sources"] == "object"
    for frame in (full, empty):
        frame.to_parquet(tmp_path / "m.parquet")
        again = pd.read_parquet(tmp_path / "m.parquet")
        assert dict(again.dtypes) == dict(frame.dtypes)


def test_a_table_read_back_has_the_same_values(make_records, tmp_path):
    frame = to_frame(make_records())
    frame.to_parquet(tmp_path / "m.parquet")
    again = pd.read_parquet(tmp_path / "m.parquet")
    again["sources"] = again["sources"].map(list)
    pd.testing.assert_frame_equal(again, frame)
    assert again["sources"][0] == ["ground_truth", "model"]
    assert again["started_at"][0] == datetime(2030, 1, 2, 3, 4, 5, 6, tzinfo=UTC)


@pytest.fixture
def counting(make_entry, make_report):
    """The entry of a counting of 5 repetitions, 1,500 instructions each."""
    count = Count(
        backend="qemu",
        value=7500,
        time_enabled_ns=None,
        time_running_ns=None,
        events=0,
        problem=None,
        constant=3000,
        parts=((2, 3000), (3, 4500)),
    )
    report = make_report(counter=count, repetitions=5)
    return make_entry(stage="counting", repetitions=5, emulation=EMULATION, report=report)


def counted(entry, kernel=None) -> Record:
    return count_of(entry, plan=plan("qemu", EmulatedPlan), anchor="a", repetitions=10, kernel=kernel)


def test_a_counting_is_one_row_scaled_to_the_repetitions_of_the_native_loop(counting):
    record = counted(counting)
    assert (record.metric, record.value, record.backend) == ("instructions", 15000, "qemu")
    assert (record.repetitions, record.counted_repetitions, record.count_constant) == (10, 5, 3000)
    assert (record.emulator, record.emulated_cpu) == ("qemu-x86_64 7.2", "Haswell-v4")
    assert record.window_position is None
    assert record.not_covered == "vectors:avx512"


def test_the_kernels_share_of_an_emulated_loop_is_that_of_its_native_replicate(make_records, make_report, counting):
    report = make_report()
    busy = report.model_copy(update={"after": report.after.model_copy(update={"system_seconds": 0.5})})
    assert counted(counting.model_copy(update={"report": busy})).not_covered == "vectors:avx512; unsteady"
    assert counted(counting, kernel=0.2).not_covered == "kernel:20; vectors:avx512"
    assert make_records(report=busy)[1].not_covered == "kernel:20"


def test_where_counts_come_from_an_emulator_a_native_replicate_has_wall_time_alone(make_entry):
    (record,) = records_of(make_entry(), plan=plan("qemu", EmulatedPlan), anchor="a", clock="clock")
    assert (record.metric, record.value, record.backend) == ("wall_ns", 5e9, "clock")


def test_a_last_task_counts_where_the_kernel_shows_the_process_another_number(make_records, make_report):
    report = make_report()
    report = report.model_copy(update={"after": report.after.model_copy(update={"last_task": 9})})
    told = {pid: make_records(backend="cirron", report=report, pid=pid)[1].not_covered for pid in (4567, 3, None)}
    assert told == {4567: "threads", 3: "", None: ""}


def test_the_first_two_calls_of_the_warm_up_are_told(make_records, make_report):
    record = make_records()[0]
    assert (record.first_call_ns, record.first_call_import_ns, record.second_call_ns) == (
        3_000_000,
        2_000_000,
        1_000_000,
    )
    once = make_records(report=make_report(warmup=1, warmup_ns=(3_000_000,)))[0]
    assert (once.first_call_ns, once.second_call_ns) == (3_000_000, None)


def test_the_garbage_collector_is_told_of(make_records, make_report):
    report = make_report()
    report = report.model_copy(update={"after": report.after.model_copy(update={"gc_collections": (14, 6, 7)})})
    record = make_records(report=report)[0]
    assert (record.gc_enabled, record.gc_collections) == (True, 12)


def test_a_native_count_covers_all_repetitions_without_an_emulator(make_records):
    wall, count = make_records()
    assert (count.counted_repetitions, count.count_constant, count.emulator) == (10, None, None)
    assert (wall.counted_repetitions, wall.emulator, wall.not_covered) == (None, None, "")
