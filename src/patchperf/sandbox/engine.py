"""The Docker engine of this machine: the connection to it, and whose its containers are."""

from __future__ import annotations

import contextlib
import itertools
import os
import platform
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import docker
import requests
from docker.errors import APIError, DockerException, NotFound
from docker.models.containers import Container

from patchperf.errors import MachineError
from patchperf.sandbox.descendants import start_time

STUDY, OWNER = "patchperf.study", "patchperf.owner"
"""Labels of every container of ours: the study it works for, and the process that has to remove it."""

API_SECONDS = 120
"""How long one answer of the engine may take; pulling an image is many answers."""

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Owner:
    """A process of this machine for good: its pid may be used again, with another start time or in another boot."""

    boot: str
    namespace: str
    pid: int
    started: str

    @classmethod
    def here(cls) -> Owner:
        """This process."""
        return cls(_boot(), _pid_namespace(), os.getpid(), start_time(os.getpid()))

    @classmethod
    def read(cls, label: str) -> Owner | None:
        """The owner that a label names; None if it is not of our form."""
        boot, *others = label.split("/")
        if len(others) != 3 or not others[1].isdecimal():
            return None
        return cls(boot, others[0], int(others[1]), others[2])

    @property
    def label(self) -> str:
        """As a label's value."""
        return f"{self.boot}/{self.namespace}/{self.pid}/{self.started}"

    def is_dead(self) -> bool:
        """Whether the process is surely gone: one of another pid namespace in this boot may live unseen."""
        if self.boot != _boot():
            return True
        return self.namespace == _pid_namespace() and start_time(self.pid) != self.started


def connect() -> docker.DockerClient:
    """The engine that DOCKER_HOST names, or the one of this machine; raises MachineError where none answers.

    Podman answers as well where its service listens: DOCKER_HOST=unix:///run/podman/podman.sock.
    """
    try:
        client = docker.from_env(version="auto", timeout=API_SECONDS)
        client.ping()
    except (DockerException, requests.RequestException) as error:
        where = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
        raise MachineError(
            f"no Docker engine answers at {where}: {first_line(error)}; start it, let this user reach its socket, or "
            "set DOCKER_HOST"
        ) from None
    return client


def labels(study: str) -> dict[str, str]:
    """The labels of a container of this process for a study (its digest)."""
    return {STUDY: study, OWNER: Owner.here().label}


def new_name(study: str) -> str:
    """A name for a container that no other has."""
    return f"patchperf-{study[:8]}-{os.getpid()}-{next(_numbers)}-{secrets.token_hex(3)}"


def remove_abandoned(client: docker.DockerClient) -> list[str]:
    """Remove our containers whose owners are dead; their names. No container without our label is touched."""
    removed = []
    for container in client.containers.list(all=True, filters={"label": OWNER}, ignore_removed=True):
        owner = Owner.read(container.labels.get(OWNER, ""))
        if owner is not None and owner.is_dead():
            removed.append(str(container.name))
            remove(container)
    return removed


def remove(container: Container) -> None:
    """Remove a container of ours with all that runs in it, and the volumes that nobody named; gone already is fine."""
    with contextlib.suppress(NotFound):
        try:
            container.remove(force=True, v=True)
        except APIError as error:
            if error.status_code != 409:  # another process removes it at this moment
                raise


@contextlib.contextmanager
def told_by_engine(what: str) -> Iterator[None]:
    """Turn what the engine refuses, or its silence, into a MachineError of one line."""
    try:
        yield
    except APIError as error:
        raise MachineError(f"{what}: the Docker engine says: {first_line(error)}") from None
    except (DockerException, requests.RequestException) as error:
        raise MachineError(f"{what}: the Docker engine does not answer: {first_line(error)}") from None


def first_line(error: Exception) -> str:
    """What an error of the engine says, on one line."""
    told = (error.explanation if isinstance(error, APIError) else None) or str(error) or type(error).__name__
    text = told.decode(errors="replace") if isinstance(told, bytes) else str(told)
    return " ".join(text.split())[:500]


def native_architecture() -> str:
    """The machine's architecture under the name that images have."""
    machine = platform.machine()
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _pid_namespace() -> str:
    return str(Path("/proc/self/ns/pid").stat().st_ino)
