"""A workbench on a repository as small as a test needs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from small_instances import make_instance, new_file, write_tree

from patchperf.config import Config
from patchperf.sandbox.environments import Environment
from patchperf.sandbox.local import local_sandbox
from patchperf.study.workbench import Workbench


def make_bench(
    folder: Path,
    source: str,
    *,
    test: str = "test_x",
    patch: str = "",
    files: dict[str, str] | None = None,
    timeouts: dict[str, float] | None = None,
) -> Workbench:
    """A workbench whose base holds ``code.py`` and whose benchmark brings ``test_a.py``, run by this Python's pytest.

    ``files`` are more of the base's; a probe makes four calls.
    """
    base = write_tree(folder / "base", {"code.py": "answer = 41\n", **(files or {})})
    git = ["git", "-C", str(base), "-c", "user.name=n", "-c", "user.email=e"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "base"]):
        subprocess.run([*git, *arguments], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    config = Config.model_validate(
        {
            "datasets": [{"name": "d", "path": "d.jsonl"}],
            "repositories": {"mirrors": "m"},
            "warmup": 3,
            "timeouts": timeouts or {},
        }
    )
    (folder / "work").mkdir()
    prefix = Path(sys.prefix)
    return Workbench(
        instance=make_instance(
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 pytest -rA -p no:cacheprovider test_a.py",
            base_commit=commit,
            patch=patch,
            test_patch=new_file("test_a.py", source),
            fail_to_pass=(f"test_a.py::{test}",),
        ),
        config=config,
        mirror=base / ".git",
        environment=Environment(prefix / "bin" / "python", prefix, Path(sys.base_prefix), "0" * 64, {}),
        sandbox=local_sandbox(config.sandbox, folder / "sandbox"),
        work=folder / "work",
    )
