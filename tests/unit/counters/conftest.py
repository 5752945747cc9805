from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from emulated_runs import Emulated

from patchperf.counters.preflight import COUNTERS
from patchperf.counters.protocol import INPROCESS, Simulator
from patchperf.errors import MachineError


@pytest.fixture(scope="session")
def tools_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder for tools that are built once."""
    return tmp_path_factory.mktemp("tools-cache")


@pytest.fixture(scope="session")
def emulate(tools_cache, tmp_path_factory):
    """A simulator by name, ready to run functions; skips where the machine does not have it."""
    made: dict[str, Emulated] = {}

    def make(backend: str) -> Emulated:
        if backend not in made:
            simulator = COUNTERS[backend]
            assert isinstance(simulator, Simulator)
            try:
                folder = simulator.prepare(tools_cache, Path(sys.executable))
            except MachineError as error:
                pytest.skip(str(error))
            made[backend] = Emulated(simulator, folder, tmp_path_factory.mktemp(backend))
        return made[backend]

    return make


@pytest.fixture(params=["qemu", "callgrind"])
def emulated(request, emulate) -> Emulated:
    return emulate(request.param)


@pytest.fixture(scope="session")
def module() -> ModuleType:
    """The in-process module."""
    loaded = ModuleType("patchperf_inprocess")
    exec(compile(INPROCESS.read_text(), str(INPROCESS), "exec"), loaded.__dict__)
    return loaded
