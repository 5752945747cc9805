"""Images of the Docker engine: found, pulled within bounds, named by their content, and removed if they were ours."""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import docker
import requests
from docker.errors import APIError, DockerException, ImageNotFound
from pydantic import BaseModel, ConfigDict

from patchperf.config import Images
from patchperf.errors import InputError, MachineError
from patchperf.sandbox import engine
from patchperf.sandbox.locks import exclusive

HOUR = 3600.0
FIRST_PAUSE = 10.0
_GROWTH = 4.0
_LONGEST_WAIT = 30.0
_PERMANENT = frozenset({400, 401, 403, 404})
_REFUSED = re.compile(
    r"manifest unknown|not found|pull access denied|unauthorized|no matching manifest|invalid reference", re.IGNORECASE
)
"""What a registry says where asking again changes nothing; engines pass it on under any status."""

_GIGABYTE = 10**9


class Image(BaseModel):
    """An image: the name it was asked for by, the id of its content, and its name in a registry by digest, if any."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reference: str
    id: str
    repo_digest: str | None = None

    @property
    def pullable(self) -> str:
        """The name to pull the very same image by."""
        return self.repo_digest or self.reference


def resolve(client: docker.DockerClient, reference: str, settings: Images, cache: Path) -> Image:
    """The image that a name stands for now, pulled if it is missing and may be.

    Raises InputError where there is none of that name or none for this machine, MachineError where it cannot be had.
    """
    found = _present(client, reference)
    if found is None:
        pull(client, reference, settings, cache)
        found = _present(client, reference)
    if found is None:
        raise MachineError(f"image {reference}: the Docker engine has pulled it and does not have it; try again")
    architecture = found["Architecture"]
    if architecture != engine.native_architecture():
        raise InputError(f"image {reference} is for {architecture}, this machine is {engine.native_architecture()}")
    return Image(reference=reference, id=found["Id"], repo_digest=_repo_digest(found, reference))


def ensure(client: docker.DockerClient, image: Image, settings: Images, cache: Path) -> None:
    """Have exactly this image, whatever its name stands for by now; raises InputError, MachineError as ``resolve``."""
    if _present(client, image.id) is not None:
        return
    pull(client, image.pullable, settings, cache)
    if _present(client, image.id) is None:
        raise InputError(
            f"image {image.reference}: the one that this study has run in, {image.id}, is gone, and {image.pullable} "
            "is another one now: delete its file in results/environments, and all that was run in it runs again"
        )


def pull(
    client: docker.DockerClient,
    reference: str,
    settings: Images,
    cache: Path,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Pull an image, again after a growing pause where that fails, and note that it is one of ours.

    Raises InputError where the registry does not have it or not for us, MachineError after the last attempt, where
    there is not enough room, or where ``settings`` forbid it.
    """
    if settings.pull == "never":
        raise InputError(
            f"image {reference} is not here and sandbox.images.pull is never: load or pull it, or set it to missing"
        )
    home = cache.absolute() / "pulls"
    name = hashlib.sha256(reference.encode()).hexdigest()[:16]
    with exclusive(home / f"{name}.lock"), _slot(home, settings.at_once, sleep):
        if _present(client, reference) is not None:
            return
        for attempt in range(1, settings.attempts + 1):
            _require_room(client, reference, settings)
            _wait_for_turn(home, reference, settings.per_hour, sleep)
            logging.info("pulling %s (attempt %d of %d)", reference, attempt, settings.attempts)
            problem = _pulled(client, reference)
            if problem is None:
                _note(home, event="pulled", reference=reference, id=client.images.get(reference).id)
                return
            logging.warning("pulling %s: %s", reference, problem)
            if attempt < settings.attempts:
                sleep(FIRST_PAUSE * _GROWTH ** (attempt - 1))
    raise MachineError(f"image {reference} cannot be pulled, {settings.attempts} times tried: {problem}")


def remove(client: docker.DockerClient, image: Image, cache: Path) -> bool:
    """Remove an image if it was pulled by us and nothing uses it; whether that was done.

    Only the name that we pulled is taken away: an image that has another one, or a container of anybody, stays.
    """
    home = cache.absolute() / "pulls"
    with exclusive(home / "ledger.lock"):
        ours = _ours(home, image.id)
        if not ours:
            return False
        for reference in ours:
            found = _present(client, reference)
            if found is None or found["Id"] != image.id:
                continue
            try:
                client.images.remove(reference, force=False, noprune=True)
            except APIError as error:
                if error.status_code != 409:
                    raise MachineError(f"image {reference} cannot be removed: {engine.first_line(error)}") from None
                logging.info("image %s stays: %s", reference, engine.first_line(error))
                return False
        _append(home, event="removed", id=image.id)
    return True


def _present(client: docker.DockerClient, reference: str) -> dict[str, Any] | None:
    with engine.told_by_engine(f"image {reference}"):
        try:
            return dict(client.images.get(reference).attrs)
        except ImageNotFound:
            return None


def _repo_digest(found: dict[str, Any], reference: str) -> str | None:
    """The image's name by digest in the repository that it was asked for from."""
    if "@" in reference:
        return reference
    known = found.get("RepoDigests") or []
    head, _, last = reference.rpartition("/")
    repository = f"{head}/{last.partition(':')[0]}" if head else last.partition(":")[0]
    bare = repository.removeprefix("docker.io/").removeprefix("library/")
    return next((one for one in known if one.partition("@")[0] in (repository, bare)), None)


def _pulled(client: docker.DockerClient, reference: str) -> str | None:
    """Try once: None if the image is there, else what went wrong and may go better later; raises InputError."""
    name, tag = (reference, None) if "@" in reference or ":" in reference.rpartition("/")[2] else (reference, "latest")
    try:
        for step in client.api.pull(name, tag=tag, stream=True, decode=True):
            if "error" in step:
                return _unless_refused(reference, str(step["error"]))
    except APIError as error:
        return _unless_refused(reference, engine.first_line(error), error.status_code)
    except (DockerException, requests.RequestException) as error:
        return engine.first_line(error)
    return None


def _unless_refused(reference: str, problem: str, status: int | None = None) -> str:
    if status in _PERMANENT or _REFUSED.search(problem):
        raise InputError(f"image {reference} cannot be pulled: {problem}")
    return problem


def _require_room(client: docker.DockerClient, reference: str, settings: Images) -> None:
    with engine.told_by_engine("its folder"):
        folder = Path(client.info()["DockerRootDir"])
    while not folder.exists():
        folder = folder.parent
    about = os.statvfs(folder)
    free = about.f_bavail * about.f_frsize
    if free < settings.free_gb * _GIGABYTE:
        raise MachineError(
            f"image {reference} is not pulled: {free / _GIGABYTE:.1f} GB are free below {folder}, and "
            f"sandbox.images.free_gb is {settings.free_gb:g}: free some, or set sandbox.images.remove"
        )


@contextmanager
def _slot(home: Path, slots: int, sleep: Callable[[float], None]) -> Iterator[None]:
    """Be one of so many that pull at a time."""
    with ExitStack() as stack:
        streams = [stack.enter_context((home / f"slot-{number}.lock").open("a")) for number in range(slots)]
        while not any(_locked(stream.fileno()) for stream in streams):
            sleep(1.0)
        yield


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait_for_turn(home: Path, reference: str, per_hour: int, sleep: Callable[[float], None]) -> None:
    """Wait until fewer pulls than that were begun in the last hour, and note that this one is."""
    while True:
        with exclusive(home / "ledger.lock"):
            now = time.time()
            begun = sorted(e["time"] for e in _events(home) if e["event"] == "begun" and now - HOUR < e["time"] <= now)
            if len(begun) < per_hour:
                _append(home, event="begun", reference=reference)
                return
        wait = begun[-per_hour] + HOUR - now
        logging.info("%d images were pulled in the last hour: %s waits %.0f s", len(begun), reference, wait)
        sleep(min(max(wait, 1.0), _LONGEST_WAIT))


def _note(home: Path, **event: Any) -> None:
    with exclusive(home / "ledger.lock"):
        _append(home, **event)


def _append(home: Path, **event: Any) -> None:
    with (home / "ledger.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"time": time.time(), **event}) + "\n")


def _events(home: Path) -> list[dict[str, Any]]:
    """What was noted, without a line that a crash cut short: an image that is not known as ours is left alone."""
    ledger = home / "ledger.jsonl"
    events = []
    for line in ledger.read_text("utf-8", errors="replace").splitlines() if ledger.exists() else ():
        with suppress(ValueError):
            events.append(json.loads(line))
    return events


def _ours(home: Path, identity: str) -> list[str]:
    """The names by which we pulled an image since it was last removed."""
    names: list[str] = []
    for event in _events(home):
        if event.get("id") == identity:
            names = [] if event["event"] == "removed" else [*names, event["reference"]]
    return list(dict.fromkeys(names))
