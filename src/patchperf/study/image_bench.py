"""The workbench of an instance in its benchmark's own image: the image's tree, Python and programs, in a container."""

from __future__ import annotations

import dataclasses
import hashlib
import logging
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from patchperf.config import Config, cache_folder, resolve_path
from patchperf.counters.bundle import bundle
from patchperf.counters.preflight import Attempt, in_sandbox
from patchperf.counters.protocol import Backend
from patchperf.errors import InputError, MachineError
from patchperf.isolation.cgroups import ROOT
from patchperf.isolation.places import docker_problem
from patchperf.sandbox import engine
from patchperf.sandbox.container import DockerSandbox, Setup
from patchperf.sandbox.image_environment import (
    Access,
    ImageEnvironment,
    beyond_base,
    reopened,
    survey,
    user_files,
)
from patchperf.sandbox.image_spec import ImageSpec
from patchperf.sandbox.images import Image, remove
from patchperf.sandbox.placement import Placement
from patchperf.study.host import HARDWARE
from patchperf.study.rows import Row, read_row
from patchperf.study.workbench import Workbench

ENVIRONMENTS = Path("results/environments")
NO_MORE = Setup()
_SHOWN_FILES = 5


def study_label(study: Path) -> str:
    """What containers of a study (its working directory) are labelled with."""
    return hashlib.sha256(os.fsencode(study.resolve())).hexdigest()[:16]


def survey_image(spec: ImageSpec, config: Config, work: Path) -> ImageEnvironment:
    """Have an image and look into it; ``work`` is a scratch folder."""
    with _access(config, work) as access:
        return survey(spec, access)


def release_image(record: Path, config: Config) -> tuple[Image, bool]:
    """Remove the image that an environment's record tells of, if it was pulled by us; it, and whether it is gone."""
    image = ImageEnvironment.model_validate_json(record.read_bytes()).image
    client = engine.connect()
    try:
        return image, remove(client, image, cache_folder(config))
    finally:
        client.close()


def read_image_environment(spec: ImageSpec, folder: Path = ENVIRONMENTS) -> ImageEnvironment:
    """What was found in an image when the study first looked; raises InputError if that is not there."""
    file = folder / f"{spec.digest}.json"
    try:
        return ImageEnvironment.model_validate_json(file.read_bytes())
    except (FileNotFoundError, ValidationError):
        raise InputError(f"{file} is missing or of another version: delete it and run again") from None


def image_ids(instances: Sequence[str]) -> dict[str, str]:
    """The ids of the images that instances are run in."""
    specs = {name: read_row(name).environment for name in instances}
    return {name: read_image_environment(spec).image.id for name, spec in specs.items() if isinstance(spec, ImageSpec)}


@contextmanager
def image_sandbox(
    spec: ImageSpec, config: Config, folders: tuple[Path, ...], work: Path, setup: Setup = NO_MORE
) -> Iterator[DockerSandbox]:
    """A sandbox in an image that the study has looked into, e.g. to try out counters; see ``image_bench``."""
    with _opened(spec, config, folders, work, setup) as (sandbox, _, _):
        yield sandbox


def attempt_in_image(records: Sequence[str], config: Config, folders: tuple[Path, ...], work: Path) -> Attempt:
    """Trying out a counter in the first of the study's images (the files that tell of them), allowed what measuring is.

    An image with an older C library than this machine's may not load what was compiled here: that is seen in each
    case's own measurement.
    """
    if not records:
        return lambda _: "no image to try it in: no instance of the study is run"
    environment = ImageEnvironment.model_validate_json(Path(records[0]).read_bytes())
    spec = ImageSpec(image=environment.image.reference, activate=config.sandbox.images.activate)

    def attempt(backend: Backend) -> str | None:
        try:
            with image_sandbox(spec, config, folders, work, Setup(perf_events=backend in HARDWARE)) as sandbox:
                tried = in_sandbox(
                    sandbox, config.sandbox.limits, cache_folder(config), Path(environment.python), (), work=work,
                    host_python=environment.host_python,
                )  # fmt: skip
                return tried(backend)
        except MachineError as error:
            return str(error)

    return attempt


def parent_of(placement: Placement) -> str | None:
    """The control group that an engine is to start containers below, as it wants to hear of it."""
    return None if placement.cgroup is None else f"/{placement.cgroup.relative_to(ROOT)}"


@contextmanager
def image_bench(
    row: Row, config: Config, folders: tuple[Path, ...], work: Path, setup: Setup = NO_MORE
) -> Iterator[Workbench]:
    """The workbench of a row whose environment is an image, with a container that is gone afterwards.

    ``work`` is the scratch folder of this job; ``setup`` says whether the processor's counters are let through and
    where the container is placed. Raises InputError where the image is not made from the instance's base commit.
    """
    if not isinstance(row.environment, ImageSpec):
        raise InputError(f"{row.instance.instance_id}: its row names no image: delete results/instances and run again")
    with _opened(row.environment, config, folders, work, setup) as (sandbox, environment, repository):
        _tell(beyond_base(repository, environment, row.instance.base_commit), environment)
        yield Workbench(
            instance=row.instance,
            config=config,
            mirror=repository,
            commit=environment.commit,
            environment=environment,
            sandbox=sandbox,
            work=work,
            strace=_strace(cache_folder(config)),
        )


@contextmanager
def _opened(
    spec: ImageSpec, config: Config, folders: tuple[Path, ...], work: Path, setup: Setup
) -> Iterator[tuple[DockerSandbox, ImageEnvironment, Path]]:
    environment = read_image_environment(spec)
    profile = config.sandbox.seccomp
    with _access(config, work) as access:
        problem = docker_problem(access.client.info().get("CgroupDriver", "")) if setup.cgroup_parent else None
        if problem is not None:
            raise MachineError(f"isolation partition: {problem}")
        kept = reopened(environment, spec, access)
        setup = dataclasses.replace(
            setup,
            files=user_files(kept, work / "users"),
            seccomp=None if profile is None else resolve_path(profile, folders).read_text("utf-8"),
        )
        with DockerSandbox(access.client, environment.image.id, work / "sandbox", access.study, setup) as sandbox:
            yield sandbox, environment, kept.repository


@contextmanager
def _access(config: Config, work: Path) -> Iterator[Access]:
    client = engine.connect()
    try:
        yield Access(client, config.sandbox.images, cache_folder(config), work, study_label(Path.cwd()))
    finally:
        client.close()


def _strace(cache: Path) -> Path:
    program = shutil.which("strace")
    if program is None:
        raise MachineError("strace is not installed or not on PATH: install the package strace")
    return bundle(cache, "strace", [Path(program)])


def _tell(files: list[str], environment: ImageEnvironment) -> None:
    shown = ", ".join(files[:_SHOWN_FILES]) + (f" and {len(files) - _SHOWN_FILES} more" if files[_SHOWN_FILES:] else "")
    logging.info(
        "image %s (%s): /testbed differs from the base commit in %d files%s",
        environment.image.reference,
        environment.image.id,
        len(files),
        f": {shown}" if files else "",
    )
