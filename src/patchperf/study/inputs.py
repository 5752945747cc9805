"""Everything the user gave, read and checked before anything runs."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from patchperf.config import Config, Repositories, cache_folder
from patchperf.errors import InputError, MachineError
from patchperf.sandbox import mirrors
from patchperf.sandbox.environments import EnvironmentSpec, environment_for, load_environments
from patchperf.sandbox.image_spec import ImageSpec
from patchperf.sandbox.interpreters import find_python
from patchperf.study.datasets import load_instances, select_instances
from patchperf.study.instance import Candidate, Instance
from patchperf.study.predictions import Predictions, count_predictions, load_predictions

TOOLS = ("git", "patch", "strace")
"""Programs without which no study can be run, by the names of their packages."""

Folders = tuple[Path, ...]


@dataclass(frozen=True)
class Inputs:
    """The study's inputs; ``candidates`` are by instance id, and so are ``environments``, of the instances that run.

    ``sources`` has one row per source, see ``count_predictions``.
    """

    instances: tuple[Instance, ...]
    candidates: dict[str, tuple[Candidate, ...]]
    environments: dict[str, EnvironmentSpec | ImageSpec]
    sources: pd.DataFrame


def load_inputs(config: Config, folders: Folders) -> Inputs:
    """Read everything; raises InputError or MachineError, one line each, for the first thing that cannot be used."""
    for tool in TOOLS:
        if shutil.which(tool) is None:
            raise MachineError(f"{tool} is not installed or not on PATH: install the package {tool}")
    everything = [instance for dataset in config.datasets for instance in load_instances(dataset, folders)]
    _check_once(everything)
    instances = select_instances(everything, config.instances)
    _check_known(config, everything)
    used = [instance for instance in instances if instance.instance_id not in config.exclude]
    known = {instance.instance_id for instance in everything}
    predictions = {source.name: load_predictions(source, known, folders) for source in config.sources}
    if config.sandbox.kind == "local" and config.repositories is not None:
        check_commits(used, config.repositories, folders, cache_folder(config))
    return Inputs(
        instances=tuple(instances),
        candidates=_candidates(predictions, instances),
        environments={**_images(config, used)}
        if config.sandbox.kind == "docker"
        else {**_environments(config, used, folders)},
        sources=count_predictions(predictions, {instance.instance_id for instance in used}),
    )


def check_commits(instances: Sequence[Instance], repositories: Repositories, folders: Folders, cache: Path) -> None:
    """Raise InputError if a base commit is in no mirror."""
    for repo in sorted({instance.repo for instance in instances}):
        needed = {instance.base_commit: instance.instance_id for instance in instances if instance.repo == repo}
        mirror = mirrors.mirror(repo, repositories, folders, cache, sorted(needed))
        missing = mirrors.missing_commits(mirror, sorted(needed))
        if missing:
            more = f" (and {len(missing) - 1} more are missing)" if missing[1:] else ""
            raise InputError(
                f"{needed[missing[0]]}: {mirror} has no commit {missing[0]}{more}: {_remedy(repositories)}, or "
                "list the instance under exclude"
            )


def _remedy(repositories: Repositories) -> str:
    if repositories.mirrors is not None:
        return "fetch it there"
    if repositories.url is not None:
        return "correct repositories.url or the row"
    return "the tree's content is not what the row was made for, restore it or correct the row"


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
        raise InputError(f"exclude: in no dataset: {', '.join(unknown)}; correct the ids or drop them")


def _candidates(
    predictions: Mapping[str, Predictions], instances: Sequence[Instance]
) -> dict[str, tuple[Candidate, ...]]:
    by_instance: dict[str, list[Candidate]] = {instance.instance_id: [] for instance in instances}
    for given in predictions.values():
        for candidate in given.candidates:
            if candidate.instance_id in by_instance:
                by_instance[candidate.instance_id].append(candidate)
    return {name: tuple(candidates) for name, candidates in by_instance.items()}


def _environments(config: Config, instances: Sequence[Instance], folders: Folders) -> dict[str, EnvironmentSpec]:
    table = load_environments(config.environments, folders)

    def environment(instance: Instance) -> EnvironmentSpec:
        mirror = mirrors.mirror(instance.repo, config.repositories, folders, cache_folder(config))
        read = functools.partial(mirrors.file_at, mirror, instance.base_commit)
        try:
            spec = environment_for(instance.instance_id, instance.repo, instance.version, table, read)
        except InputError as error:
            hint = "; an instance with several F2P tests needs none with grading: corpus"
            raise InputError(f"{error}{hint if len(instance.fail_to_pass) > 1 else ''}") from None
        try:
            find_python(spec.python)
        except MachineError as error:
            raise MachineError(f"{instance.instance_id}: {error}") from None
        return spec

    return {instance.instance_id: environment(instance) for instance in instances if is_run(instance, config)}


def _images(config: Config, instances: Sequence[Instance]) -> dict[str, ImageSpec]:
    run = [instance for instance in instances if is_run(instance, config)]
    for instance in run:
        if not instance.image:
            raise InputError(
                f"{instance.instance_id}: the row names no image, which sandbox docker needs: use rows of SWE-bench 5 "
                "(image) or SWE-bench-Live (docker_image), or add that field"
            )
    activate = config.sandbox.images.activate
    return {instance.instance_id: ImageSpec(image=instance.image, activate=activate) for instance in run}


def is_run(instance: Instance, config: Config) -> bool:
    """Whether anything of an instance is run: of those with several F2P tests nothing but the grading is."""
    return config.grading == "all" or len(instance.fail_to_pass) == 1
