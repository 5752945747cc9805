"""Where one instance's commands run: trees of its repository, its environment, its sandbox, one scratch folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from patchperf.config import Config
from patchperf.counters.bundle import starting
from patchperf.errors import InputError
from patchperf.measure.envelope import fixed_variables
from patchperf.sandbox import patches, trees
from patchperf.sandbox.environments import Runtime
from patchperf.sandbox.protocol import Command, Completed, Sandbox
from patchperf.study import foreign
from patchperf.study.commands import ShellCommand
from patchperf.study.instance import Instance
from patchperf.study.solutions import Change
from patchperf.study.trace import strace_command


class BrokenInstance(InputError):  # noqa: N818
    """An instance that cannot even be set up: ``reason`` is the ledger's code, the text says what went wrong."""

    def __init__(self, instance_id: str, reason: str, detail: str) -> None:
        self.reason = reason
        self.detail = detail
        super().__init__(f"{instance_id}: {detail}; correct the row, or list the instance under exclude")


@dataclass(frozen=True)
class Workbench:
    """One instance with everything its commands need; ``work`` is a scratch folder of this job alone.

    Trees are made from ``commit`` of the bare repository ``mirror``: one that has what an image's set-up and build left
    in its tree, or (None) the instance's base commit. ``strace`` is the folder of a bundled strace, where the sandbox
    has none of its own.
    """

    instance: Instance
    config: Config
    mirror: Path
    environment: Runtime
    sandbox: Sandbox
    work: Path
    commit: str | None = None
    strace: Path | None = None

    def tree(self, name: str, patch: str | None) -> Path:
        """A new tree at the base commit with a patch applied, the project installed in it, and the benchmark's tests.

        Raises BrokenInstance when the ground truth or the test patch does not apply, or the project cannot be
        installed.
        """
        tree = self.base_tree(name)
        if patch is not None:
            applied = patches.apply_patch(tree, patch)
            if not applied.applied:
                raise self._broken("ground-truth-not-applied", f"patch does not apply: {applied.detail}")
            self.set_aside(tree)
        installed = self.install_project(tree)
        if installed is not None and not installed.ok:
            said = installed.output.strip().splitlines()[-1:] or [f"stopped: {installed.ended}"]
            raise self._broken("install-failed", f"environments.install failed: {said[0][:300]}")
        self.install_tests(tree)
        return tree

    def base_tree(self, name: str) -> Path:
        """A new tree at the base commit; one of the same name is replaced."""
        tree = self.work / name
        trees.remove(tree)
        trees.checkout(self.mirror, self.commit or self.instance.base_commit, tree)
        return tree

    def set_aside(self, tree: Path) -> tuple[str, ...]:
        """Put back to the base what a patched tree has changed beside code (see ``foreign``); returns those paths."""
        truth = patches.patch_paths(self.instance.patch)
        paths = foreign.set_aside(changed_code(tree), self.instance, truth)
        if paths:
            trees.restore(tree, trees.base_commit(tree), paths)
        return paths

    def install_project(self, tree: Path) -> Completed | None:
        """Run the configured install command in a tree, without network and with the environment read-only; None if
        none.

        It is run again in every tree, so that a patch is built like the base; what it leaves stays in the tree.
        """
        if self.config.environments.install is None:
            return None
        shell = ShellCommand(argv=("bash", "-c", self.config.environments.install))
        return self.run(shell, tree, timeout=self.config.timeouts.install)

    def install_tests(self, tree: Path) -> None:
        """Put the benchmark's tests in place: test files back to the base, then the test patch, as the harness does."""
        trees.restore(tree, self.instance.base_commit, patches.patch_paths(self.instance.test_patch))
        applied = patches.apply_patch(tree, self.instance.test_patch)
        if not applied.applied:
            raise self._broken("tests-not-applied", f"test patch does not apply: {applied.detail}")

    def _broken(self, reason: str, detail: str) -> BrokenInstance:
        return BrokenInstance(self.instance.instance_id, reason, detail)

    def command(
        self,
        shell: ShellCommand,
        tree: Path,
        *,
        timeout: float,
        hash_seed: int = 0,
        tools: Path | None = None,
        out: Path | None = None,
    ) -> Command:
        """A sandboxed command on a tree, with the whole environment of the measured Python."""
        return Command(
            argv=shell.argv,
            tree=tree,
            environment=self.variables(shell.environment, hash_seed),
            out=out,
            tools=tools,
            readable=self.readable,
            timeout=timeout,
        )

    def missing_program(self, shell: ShellCommand, tree: Path) -> str | None:
        """In one line why the program of a command is not to be had here; None if it is."""
        name = shell.argv[0]
        path = self.variables(shell.environment, hash_seed=0)["PATH"]
        if name.startswith("/"):
            return None
        if shutil.which(str(tree / name)) if "/" in name else self.environment.finds(name, path):
            return None
        where = "the tree" if "/" in name else path
        return f"{name}: no such program in {where}"

    def traced(self, shell: ShellCommand, log: str) -> ShellCommand:
        """The command with strace before it, which writes to ``log``, a path inside."""
        program, *options = strace_command(log)
        start = (program,) if self.strace is None else starting(self.strace, program)
        return shell.model_copy(update={"argv": (*start, *options, *shell.argv)})

    def run(self, shell: ShellCommand, tree: Path, *, timeout: float, hash_seed: int = 0) -> Completed:
        """Run a command on a tree without any tool of ours."""
        return self.sandbox.run(
            self.command(shell, tree, timeout=timeout, hash_seed=hash_seed), self.config.sandbox.limits
        )

    @property
    def readable(self) -> tuple[Path, ...]:
        """Host folders that commands need: those of the measured Python, and of strace."""
        return (*self.environment.readable, *([self.strace] if self.strace else []))

    @property
    def executables(self) -> frozenset[str]:
        """Names of the programs that the environment brings."""
        return self.environment.executables

    def variables(self, extra: Mapping[str, str], hash_seed: int) -> dict[str, str]:
        """The environment of every command: nothing is inherited from the user's shell or the job it runs in."""
        layout = self.sandbox.layout
        own = self.environment.variables
        roots = [
            layout.tree if root == "." else f"{layout.tree}/{root}" for root in self.config.environments.pythonpath
        ]
        if self.environment.has_project:
            roots = [own["PYTHONPATH"]] if own.get("PYTHONPATH") else []
        return {
            **own,
            **fixed_variables(self.config.isolation.pool_size),
            "PYTHONPATH": ":".join([*roots, layout.tools]),
            "PYTHONHASHSEED": str(hash_seed),
            **extra,
        }


def changed_code(tree: Path) -> tuple[Change, ...]:
    """What a patch did to a tree, file by file, with the content before and after."""
    return tuple(
        Change(
            path=change.path,
            base=None if change.status == "added" else trees.base_bytes(tree, change.path),
            new=None if change.status == "deleted" else content(tree / change.path),
        )
        for change in trees.changed_files(tree)
    )


def content(path: Path) -> bytes:
    """A file's bytes; those of a link are its target."""
    return os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
