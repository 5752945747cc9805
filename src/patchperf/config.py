"""The study's configuration: one typed model, and errors that name key, value and what is allowed."""

from __future__ import annotations

import json
import os
import re
import reprlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)
from pydantic_core import ErrorDetails

from patchperf.errors import InputError
from patchperf.isolation.partitions import Kind
from patchperf.isolation.plan import Level, Plan, Sizes, choose
from patchperf.isolation.state import Tuning
from patchperf.isolation.topology import Topology
from patchperf.measure.calibration import CountingWindow, Window
from patchperf.measure.collector import Collector
from patchperf.quality.dimensions import Efficiency, dimensions, wrong_weights
from patchperf.sandbox.protocol import Limits
from patchperf.study.instance import GROUND_TRUTH


def _plain_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", name):
        raise ValueError("a name starts with a letter or digit and has only letters, digits and . _ + -")
    return name


Name = Annotated[str, AfterValidator(_plain_name)]


class Section(BaseModel):
    """A part of the configuration: read once, never changed, no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


AnySection = TypeVar("AnySection", bound=Section)


class Dataset(Section):
    """Where benchmark rows come from: a file (``path``) or a Hugging Face dataset (``hub``, split, revision)."""

    name: Name
    path: str | None = None
    hub: str | None = None
    split: str = "test"
    revision: str | None = None

    @model_validator(mode="after")
    def _one_origin(self) -> Dataset:
        if (self.path is None) == (self.hub is None):
            raise ValueError("give either path (a file) or hub (a Hugging Face dataset id)")
        return self


class Source(Section):
    """Who produced patches: a name, its predictions file or folder, and what its authors report as resolved.

    ``previous`` names the source of an earlier run that this one is compared with, outcome by outcome.
    """

    name: Name
    predictions: str
    resolved: str | tuple[str, ...] | None = None
    previous: Name | None = None

    @model_validator(mode="after")
    def _not_ground_truth(self) -> Source:
        if self.name == GROUND_TRUTH:
            raise ValueError(f"{GROUND_TRUTH} is the name of the benchmark's own patches")
        return self


class Repositories(Section):
    """Where base commits come from, exactly one of three.

    ``mirrors``: a folder of bare ``<owner>__<name>.git``; ``url``: a clone URL with ``{repo}`` in it; ``trees``: a
    folder of plain source trees ``<owner>__<name>``, each committed as it is with a fixed author and date.
    """

    mirrors: str | None = None
    url: str | None = None
    trees: str | None = None

    @model_validator(mode="after")
    def _one_origin(self) -> Repositories:
        if sum(origin is not None for origin in (self.mirrors, self.url, self.trees)) != 1:
            raise ValueError("give exactly one of mirrors, url, trees")
        if self.url is not None and "{repo}" not in self.url:
            raise ValueError("url needs {repo} in it, e.g. https://example.org/{repo}.git")
        return self


class Environments(Section):
    """Python version and pins per instance (``file``); without it, what the ``swebench`` package ships."""

    file: str | None = None
    install: str | None = None
    pythonpath: tuple[str, ...] = (".", "src")


class Images(Section):
    """How the images of sandbox docker are had: pulled where they are missing, or never.

    ``attempts`` at each pull, with growing pauses; no more than ``at_once`` pulls at a time and ``per_hour`` in an hour
    by all studies that share the cache; none where less than ``free_gb`` (10^9 bytes) is free. ``remove``: those that
    were pulled for a study go after their last case. ``activate`` is what a shell runs in an image to have its Python.
    """

    pull: Literal["missing", "never"] = "missing"
    attempts: PositiveInt = 4
    at_once: PositiveInt = 2
    per_hour: PositiveInt = 30
    free_gb: Annotated[float, Field(ge=0)] = 20.0
    remove: bool = False
    activate: str | None = None


class SandboxSettings(Section):
    """Where patches run: confined by this machine's kernel (``local``), or in the benchmark's images (``docker``).

    ``confinement: required`` refuses to run patches where the kernel grants no namespaces; ``best-effort`` runs them
    with limits only, and every record says so. ``images`` and ``seccomp`` (the file of a profile to use instead of the
    engine's own) are for ``docker``.
    """

    kind: Literal["local", "docker"] = "local"
    confinement: Literal["required", "best-effort"] = "required"
    limits: Limits = Limits()
    images: Images = Images()
    seccomp: str | None = None


class Timeouts(Section):
    """Seconds after which a command and all its descendants are ended."""

    install: PositiveFloat = 1800
    suite: PositiveFloat = 1800
    single_point: PositiveFloat = 600
    probe: PositiveFloat = 900
    replicate: PositiveFloat = 600


class Calibration(Section, Window):
    """The window that the fastest solution's measured loop has to fall into, in seconds."""

    min_seconds: PositiveFloat = 4.0
    max_seconds: PositiveFloat = 8.0


class Counting(Section, CountingWindow):
    """How long a simulator counts a replicate's loop, in seconds under the emulator."""


class Isolation(Sizes):
    """What keeps others off the cores that measure, how many cores are for what, and what to do where that fails.

    ``partition`` is the kind of control group at level "partition", ``tuning`` what is set there for the whole machine.
    A level by itself stands for a section with it.
    """

    level: Level = "none"
    partition: Kind = "root"
    weaker: Literal["refuse", "allow"] = "refuse"
    tuning: Tuning = Tuning()

    def plan(self, topology: Topology, no_partitions: str | None = None) -> Plan:
        """What each CPU is for; ``no_partitions`` says why the machine cannot be partitioned, None if it can.

        Raises MachineError where that cannot be had and ``weaker`` does not allow less.
        """
        return choose(topology, self, self.level, self.weaker, no_partitions)

    @property
    def pool_size(self) -> int:
        """How many threads a pool may have: the cores of a group, at most the CPUs there are.

        At level "none", at most those that this process may use; at any other, those that it may use are not those that
        are measured on.
        """
        usable = os.sched_getaffinity(0) if self.level == "none" else range(os.cpu_count() or 1)
        return min(self.group_cores, len(usable))

    @model_serializer(mode="wrap")
    def _shortest(self, whole: SerializerFunctionWrapHandler) -> Any:
        """A section that only names a level is written as that level, as it is in most files."""
        return self.level if self == Isolation(level=self.level) else whole(self)


class QualityDecay(Section):
    """How a score falls beyond the ground truth's count; see ``patchperf.quality.decay``."""

    formula: Literal["reciprocal", "exponential", "linear"] = "reciprocal"
    half: PositiveFloat = 1.0


class Speed(Section):
    """How fast a source generates, and how large it is, in billions of parameters; a number by itself is the speed."""

    tokens_per_second: PositiveFloat
    total_parameters: PositiveFloat | None = None
    active_parameters: PositiveFloat | None = None

    @model_validator(mode="before")
    @classmethod
    def _number_alone(cls, value: Any) -> Any:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return {"tokens_per_second": value}
        if not isinstance(value, dict):
            raise ValueError(f"expected a number, without quotes, or a section with keys of {_fields(cls)}")
        return value

    @model_validator(mode="after")
    def _active_of_total(self) -> Speed:
        if self.total_parameters and self.active_parameters and self.active_parameters > self.total_parameters:
            raise ValueError("active_parameters must not be above total_parameters")
        return self


class Quality(Section):
    """What the Quality Index is made of; ``speeds`` are of sources, ``schemes`` further weights, by name."""

    efficiency: Efficiency = "runtime"
    metric: Literal["auto", "instructions", "wall_ns"] = "auto"
    speeds: dict[str, Speed] = {}
    decay: QualityDecay = QualityDecay()
    severity: Literal["low", "medium", "high"] = "low"
    schemes: dict[Name, dict[str, Annotated[float, Field(ge=0, le=1)]]] = {}

    @model_validator(mode="after")
    def _weights_of_dimensions(self) -> Quality:
        for name, weights in self.schemes.items():
            if wrong := wrong_weights(weights, dimensions(self.efficiency)):
                raise ValueError(f"scheme {name}: {wrong}")
        return self

    @model_validator(mode="after")
    def _speeds_for_generation(self) -> Quality:
        if self.efficiency in ("generation", "both") and not self.speeds:
            raise ValueError(f"efficiency {self.efficiency} needs speeds: tokens per second of each source")
        return self


def _off_without_quotes(value: Any) -> Any:
    """YAML reads an off without quotes as false."""
    return "off" if value is False else value


class Config(Section):
    """All settings of a study; see config/README.md."""

    datasets: Annotated[tuple[Dataset, ...], Field(min_length=1)]
    sources: tuple[Source, ...] = ()
    repositories: Repositories | None = None
    environments: Environments = Environments()
    cache: str = ".patchperf"
    scratch: str | None = None
    sandbox: SandboxSettings = SandboxSettings()
    timeouts: Timeouts = Timeouts()
    reproductions: PositiveInt = 3
    grading: Literal["all", "corpus"] = "all"
    counter: Literal["auto", "cirron", "perf", "qemu", "callgrind", "none"] = "auto"
    warmup: NonNegativeInt = 10
    calibration: Calibration = Calibration()
    replicates: Annotated[int, Field(ge=1)] = 5
    attempts: PositiveInt = 3
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05
    practical_threshold: Annotated[float, Field(ge=0)] = 0.01
    collapse: Annotated[float, Field(gt=0, lt=1)] = 0.05
    garbage_collector: Annotated[Collector, BeforeValidator(_off_without_quotes)] = "untouched"
    counting: Counting = Counting()
    quality: Quality = Quality()
    seed: NonNegativeInt = 1
    isolation: Isolation = Isolation()
    instances: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    exclude: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _images_are_environments(self) -> Config:
        if self.sandbox.kind == "docker" and self.environments != Environments():
            raise ValueError("environments is for sandbox local: with docker each image has its own; leave it out")
        return self

    @model_validator(mode="after")
    def _trees_come_from_repositories(self) -> Config:
        if self.sandbox.kind == "local" and self.repositories is None:
            raise ValueError(f"key repositories is missing, a section with some of {_fields(Repositories)}")
        return self

    @model_validator(mode="after")
    def _speeds_of_sources(self) -> Config:
        names = [source.name for source in self.sources]
        if unknown := sorted(set(self.quality.speeds).difference(names)):
            raise ValueError(f"quality.speeds: no source {unknown[0]}; there are {', '.join(names) or 'none'}")
        return self

    @model_validator(mode="after")
    def _unique_names(self) -> Config:
        for kind, names in (
            ("sources", [source.name for source in self.sources]),
            ("datasets", [dataset.name for dataset in self.datasets]),
        ):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"{kind}: two of one name: {', '.join(twice)}; give each a name of its own")
        return self

    @model_validator(mode="after")
    def _previous_are_sources(self) -> Config:
        names = {source.name for source in self.sources}
        for name, previous in self.previous.items():
            if previous == name or previous not in names:
                others = ", ".join(sorted(names - {name})) or "no other"
                raise ValueError(f"source {name}: previous = {previous} is no other source; there are {others}")
            if self.previous.get(previous) == name:
                raise ValueError(f"source {name}: previous = {previous}, and the other way round; drop one of them")
        return self

    @property
    def previous(self) -> dict[str, str]:
        """The source of the run before, by the name of each that has one."""
        return {source.name: source.previous for source in self.sources if source.previous is not None}


def load_config(values: Mapping[str, Any], where: str = "configuration") -> Config:
    """The validated configuration; raises InputError, one line for the first problem and a count of the rest.

    ``where`` names the file it comes from. Types are taken strictly, as JSON has them: no text counts as a number.
    """
    return _validated(Config, values, where)


def load_isolation(values: Mapping[str, Any], where: str = "configuration") -> Isolation:
    """The validated ``isolation`` of a configuration that need not be a study's; raises InputError as ``load_config``.

    Where it says nothing, that is isolation "none".
    """
    given = {key: value for key, value in values.items() if key == "isolation"}
    return _validated(_Isolated, given, where).isolation


def load_memory_mb(values: Mapping[str, Any], where: str = "configuration") -> int:
    """The memory (MiB) that a command of such a configuration may use; raises InputError as ``load_config``."""
    given = {key: value for key, value in values.items() if key == "sandbox"}
    return _validated(_Isolated, given, where).sandbox.limits.memory_mb


class _Isolated(Section):
    isolation: Isolation = Isolation()
    sandbox: SandboxSettings = SandboxSettings()


def _validated(section: type[AnySection], values: Mapping[str, Any], where: str) -> AnySection:
    level = values.get("isolation")
    if isinstance(level, str):
        values = {**values, "isolation": {"level": level}}
    try:
        return section.model_validate_json(json.dumps(values, default=str), strict=True)
    except ValidationError as error:
        raise InputError(f"{where}: {_one_line(error)}") from None


def _one_line(error: ValidationError) -> str:
    found: dict[str, list[ErrorDetails]] = {}
    for detail in error.errors(include_url=False):
        found.setdefault(_key(detail), []).append(detail)
    (key, details), *others = found.items()
    # A list whose elements are wrong is reported as too short as well.
    more = sum(details[0]["type"] != "too_short" for _, details in others)
    return _problem(key, details) + (f" (and {more} more)" if more else "")


def _problem(key: str, details: Sequence[ErrorDetails]) -> str:
    """What is wrong with a key; one that may be of several types has a detail for each."""
    first = details[0]
    if first["type"] == "extra_forbidden":
        parent = _section_at(first["loc"][:-1])
        return f"unknown key {key}{f'; allowed here: {_fields(parent)}' if parent else ''}"
    if first["type"] == "missing":
        section = _section_at(first["loc"])
        return f"key {key} is missing{f', a section with some of {_fields(section)}' if section else ''}"
    shown = f"key {key} = {reprlib.repr(first['input'])}: " if key else ""
    return shown + " or ".join(dict.fromkeys(_expected(detail) for detail in details))


def _expected(detail: ErrorDetails) -> str:
    match detail["type"]:
        case "model_type":
            section = _section_at(detail["loc"])
            return f"expected a section with keys of {_fields(section)}" if section else "expected a section"
        case "tuple_type":
            return "expected a list"
        case "too_short":
            return "expected a list with at least one element"
        case "float_type" | "float_parsing":
            return "expected a number, without quotes, an exponent after a decimal point (1.0e-2)"
        case _:
            text = detail["msg"].removeprefix("Value error, ")
            return re.sub("^Input should be (?=greater|less)", "expected a value ", text).replace(
                "Input should be", "expected"
            )


def _fields(section: type[BaseModel]) -> str:
    return ", ".join(section.model_fields)


def _key(detail: ErrorDetails) -> str:
    """The dotted key; where a value may be of several types, pydantic adds a name for each, which is left out."""
    model: type[BaseModel] | None = Config
    steps: list[str] = []
    for place, step in enumerate(detail["loc"]):
        if isinstance(step, str):
            if model is None:
                break
            model = _section_at(detail["loc"][: place + 1])
        steps.append(str(step))
    return ".".join(steps)


def _section_at(location: tuple[int | str, ...]) -> type[BaseModel] | None:
    """The model whose keys are allowed at a location such as ``("datasets", 0)``; None where there is none."""
    model: type[BaseModel] = Config
    is_name = False
    for step in location:
        if isinstance(step, int) or is_name:
            is_name = False
            continue
        field = model.model_fields.get(step)
        if field is None:
            return None
        found = [kind for kind in _flatten(field.annotation) if issubclass(kind, BaseModel)]
        if not found:
            return None
        model = found[0]
        is_name = get_origin(field.annotation) is dict
    return model


def _flatten(annotation: Any) -> list[type]:
    inner = getattr(annotation, "__args__", ())
    if not inner:
        return [annotation] if isinstance(annotation, type) else []
    return [kind for argument in inner for kind in _flatten(argument)]


def resolve_path(path: str, folders: tuple[Path, ...]) -> Path:
    """An existing path, looked up in each folder in turn; raises InputError that names every place tried."""
    tried = [folder / Path(path).expanduser() for folder in folders]
    for candidate in tried:
        if candidate.exists():
            return candidate
    places = dict.fromkeys(str(candidate.absolute()) for candidate in tried)
    raise InputError(f"{path}: no such file or folder; looked at {', '.join(places)}")


def cache_folder(config: Config) -> Path:
    """Where environments and cloned mirrors are kept between studies."""
    return Path(config.cache).expanduser().resolve()
