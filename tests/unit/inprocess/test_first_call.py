"""What a first call spends on importing modules that were not there, told apart from the rest of it."""

from __future__ import annotations

import importlib
import sys
import threading
import time
import traceback
import warnings

import pytest

REPLICATE = {"mode": "replicate", "repetitions": 5, "counter": "none"}
FOUND = sys.modules["_frozen_importlib"]._find_and_load
MODULES = {
    "slow_outer": "import time\ntime.sleep(0.03)\nimport slow_inner\n",
    "slow_inner": "import time\ntime.sleep(0.02)\n",
    "deprecated": "import warnings\nwarnings.warn('old', DeprecationWarning, stacklevel=2)\n",
    "broken": "import no_such_module\n",
}


@pytest.fixture(autouse=True)
def modules(tmp_path, monkeypatch):
    """Modules that nothing has imported yet; importlib is as it was in the end."""
    for name, source in MODULES.items():
        (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    for name in MODULES:
        sys.modules.pop(name, None)
    assert sys.modules["_frozen_importlib"]._find_and_load is FOUND


def slow_import():
    import slow_outer  # noqa: F401, PLC0415


@pytest.mark.parametrize("importing", [slow_import, lambda: importlib.import_module("slow_outer")])
def test_imports_of_the_first_call_are_timed_and_those_within_them_once(tools, importing):
    tools.measured(importing, **REPLICATE)()
    record = tools.record
    assert 50e6 <= record["first_call_import_ns"] <= record["first_call_ns"]
    assert record["warmup_ns"][1] < 20e6


def test_what_a_first_call_does_beside_imports_is_not_one(tools):
    tools.measured(lambda: (slow_import(), time.sleep(0.05)), **REPLICATE)()
    record = tools.record
    assert record["first_call_ns"] - record["first_call_import_ns"] >= 50e6


def test_modules_that_are_there_cost_nothing_and_later_calls_are_not_asked(tools):
    calls = []

    def body():
        exec("import time")
        calls.append(1)
        if len(calls) == 2:
            slow_import()

    tools.measured(body, **REPLICATE)()
    assert tools.record["first_call_import_ns"] == 0
    assert tools.record["warmup_ns"][1] >= 50e6


def test_a_module_that_another_thread_imports_is_the_calls_own_time(tools):
    def body():
        thread = threading.Thread(target=slow_import)
        thread.start()
        thread.join()

    tools.measured(body, **REPLICATE)()
    assert tools.record["first_call_import_ns"] == 0


@pytest.mark.parametrize("mode", ["probe", "trial", "calibrate", "replicate"])
def test_every_mode_puts_importlib_back_before_its_loop(tools, mode):
    seen = []
    spec = {"marker": "m", "trial_seconds": 0.001, "min_seconds": 0.002, "max_seconds": 0.02, **REPLICATE}
    body = tools.measured(lambda: seen.append(sys.modules["_frozen_importlib"]._find_and_load), **spec | {"mode": mode})
    body()
    assert seen[0] is not FOUND
    assert set(seen[3:]) == {FOUND}


def test_without_warm_up_nothing_is_asked(tools):
    tools.measured(lambda: None, warmup=0, **REPLICATE)()
    assert tools.record["first_call_import_ns"] is None


def test_warnings_and_tracebacks_of_an_import_name_the_importing_line(tools):
    caught = []

    def body():
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            import deprecated  # noqa: F401, PLC0415
        caught.extend(told)
        import broken  # noqa: F401, PLC0415

    with pytest.raises(ModuleNotFoundError) as raised:
        tools.measured(body, **REPLICATE)()
    assert [warning.filename for warning in caught] == [__file__]
    frames = [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)]
    assert frames[-2:] == ["body", "<module>"]
