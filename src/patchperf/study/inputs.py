"""Everything the user gave, read and checked before anything runs."""

from __future__ import annotations

import functools
import logging
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from patchperf.config import Config
from patchperf.errors import InputError, MachineError
from patchperf.sandbox import mirrors
from patchperf.sandbox.environments import EnvironmentSpec, environment_for, load_environments
from patchperf.study.datasets import load_instances, select_instances
from patchperf.study.instance import Candidate, Instance
from patchperf.study.predictions import load_predictions

log = logging.getLogger(__name__)

Folders = tuple[Path, ...]


@dataclass(frozen=True)
class Inputs:
    """The study's inputs; ``candidates`` and ``environments`` are by instance id."""

    instances: tuple[Instance, ...]
    candidates: dict[str, tuple[Candidate, ...]]
    environments: dict[str, EnvironmentSpec]


def load_inputs(config: Config, folders: Folders) -> Inputs:
    """Read everything; raises InputError or MachineError, one line each, for the first thing that cannot be used."""
    for tool, package in (("git", "git"), ("strace", "strace")):
        if shutil.which(tool) is None:
            raise MachineError(f"{tool} is not installed: install the package {package} of your distribution")
    everything = [instance for dataset in config.datasets for instance in load_instances(dataset, folders)]
    _check_once(everything)
    instances = select_instances(everything, config.instances)
    _check_known(config, everything)
    used = [instance for instance in instances if instance.instance_id not in config.exclude]
    check_commits(used, config, folders)
    return Inputs(
        instances=tuple(instances),
        candidates=_candidates(config, everything, instances, folders),
        environments=_environments(config, instances, folders),
    )


def check_commits(instances: Sequence[Instance], config: Config, folders: Folders) -> None:
    """Raise InputError if a base commit is in no mirror."""
    for repo in sorted({instance.repo for instance in instances}):
        needed = {instance.base_commit: instance.instance_id for instance in instances if instance.repo == repo}
        mirror = mirrors.mirror(repo, config.repositories, folders, cache_folder(config), sorted(needed))
        missing = mirrors.missing_commits(mirror, sorted(needed))
        if missing:
            raise InputError(
                f"{needed[missing[0]]}: {mirror} has no commit {missing[0]}"
                f"{f' (and {len(missing) - 1} more are missing)' if missing[1:] else ''}: fetch it there, or list the "
                "instance under exclude"
            )


def cache_folder(config: Config) -> Path:
    """Where environments and cloned mirrors are kept between studies."""
    return Path(config.cache).expanduser().resolve()


def _check_once(instances: Sequence[Instance]) -> None:
    first: dict[str, Instance] = {}
    for instance in instances:
        other = first.setdefault(instance.instance_id, instance)
        if other is not instance:
            raise InputError(
                f"{instance.instance_id} is in dataset {other.dataset} and again in {instance.dataset}: an instance is "
                "studied once, drop it from one of them"
            )


def _check_known(config: Config, instances: Sequence[Instance]) -> None:
    unknown = sorted(set(config.exclude) - {instance.instance_id for instance in instances})
    if unknown:
        raise InputError(f"exclude: no dataset has an instance {unknown[0]}")


def _candidates(
    config: Config, everything: Sequence[Instance], selected: Sequence[Instance], folders: Folders
) -> dict[str, tuple[Candidate, ...]]:
    known = {instance.instance_id for instance in everything}
    by_instance: dict[str, list[Candidate]] = {instance.instance_id: [] for instance in selected}
    for source in config.sources:
        predictions = load_predictions(source, known, folders)
        log.info(
            "%s: %d predictions, %d outside the datasets", source.name, len(predictions.candidates), predictions.outside
        )
        for candidate in predictions.candidates:
            if candidate.instance_id in by_instance:
                by_instance[candidate.instance_id].append(candidate)
    return {name: tuple(candidates) for name, candidates in by_instance.items()}


def _environments(config: Config, instances: Sequence[Instance], folders: Folders) -> dict[str, EnvironmentSpec]:
    table = load_environments(config.environments, folders)

    def environment(instance: Instance) -> EnvironmentSpec:
        mirror = mirrors.mirror(instance.repo, config.repositories, folders, cache_folder(config))
        read = functools.partial(mirrors.file_at, mirror, instance.base_commit)
        return environment_for(instance.instance_id, instance.repo, instance.version, table, read)

    return {instance.instance_id: environment(instance) for instance in instances}
