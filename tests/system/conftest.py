"""What the system tests share."""

from __future__ import annotations

from collections.abc import Iterator

import docker
import pytest
from docker_engine import import_image, running_engine
from old_root import old_root


@pytest.fixture(scope="session")
def engine_address() -> Iterator[str]:
    """A Docker engine that was started for these tests."""
    with running_engine() as address:
        yield address


@pytest.fixture(scope="session")
def client(engine_address: str) -> Iterator[docker.DockerClient]:
    """A connection to that engine."""
    client = docker.DockerClient(engine_address)
    yield client
    client.close()


@pytest.fixture(scope="session")
def old_image(client: docker.DockerClient) -> str:
    """The id of an image with an older Python and nothing of a benchmark."""
    return import_image(client, old_root(), "old:1")
