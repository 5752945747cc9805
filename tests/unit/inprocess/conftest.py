from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from patchperf.counters.protocol import INPROCESS

_CODE = compile(INPROCESS.read_text(), str(INPROCESS), "exec")


class Tools:
    """A tools folder as a sandbox would show it, loaded into this process like the first import in a fresh one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.out = folder / "out.jsonl"

    def load(self, **spec: Any) -> ModuleType:
        told = {"warmup": 3, "out": str(self.out), **spec}
        (self.folder / "spec.json").write_text(json.dumps(told))
        module = ModuleType("patchperf_inprocess")
        module.__file__ = str(self.folder / INPROCESS.name)
        exec(_CODE, module.__dict__)
        return module

    def measured(self, function: Callable[..., Any], **spec: Any) -> Callable[..., Any]:
        return self.load(**spec).measured(function)

    @property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.read_text().splitlines()]

    @property
    def record(self) -> dict[str, Any]:
        (record,) = self.records
        return record


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    return Tools(tmp_path)


@pytest.fixture(scope="session")
def module() -> ModuleType:
    """The in-process module, for what needs no tools folder."""
    loaded = ModuleType("patchperf_inprocess")
    exec(_CODE, loaded.__dict__)
    return loaded
