"""Images against a real engine and a registry: had within bounds, pinned by content, removed only if they are ours."""

from __future__ import annotations

import fcntl
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
from registry import Registry, running_registry

from patchperf.config import Images
from patchperf.errors import InputError, MachineError
from patchperf.sandbox import images

SETTINGS = Images(free_gb=0)


@pytest.fixture(scope="module")
def registry() -> Iterator[Registry]:
    with running_registry() as registry:
        yield registry


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def ledger(cache: Path) -> list[str]:
    return [json.loads(line)["event"] for line in (cache / "pulls" / "ledger.jsonl").read_text().splitlines()]


def names(client: docker.DockerClient) -> set[str]:
    return {tag for image in client.images.list() for tag in image.tags}


def test_a_missing_image_is_pulled_once_and_named_by_its_content(registry, client, cache):
    reference = registry.add("first:1", "one")
    image = images.resolve(client, reference, SETTINGS, cache)
    assert image.id == client.images.get(reference).id
    assert image.repo_digest is not None and image.repo_digest.startswith(f"{registry.host}/first@sha256:")
    asked = len(registry.asked)
    assert images.resolve(client, reference, SETTINGS, cache) == image
    assert len(registry.asked) == asked
    assert ledger(cache) == ["begun", "pulled"]


def test_a_failing_registry_is_asked_again_after_growing_pauses(registry, client, cache, pauses):
    reference = registry.add("flaky:1", "flaky")
    registry.failures[:] = [500, 500]
    images.pull(client, reference, SETTINGS, cache, pauses.append)
    assert pauses == [10, 40]
    assert ledger(cache) == ["begun"] * 3 + ["pulled"]


def test_attempts_are_bounded(registry, client, cache, pauses):
    reference = registry.add("broken:1", "broken")
    registry.failures[:] = [503] * 3
    with pytest.raises(MachineError, match=r"broken:1 cannot be pulled, 3 times tried: .*503"):
        images.pull(client, reference, SETTINGS.model_copy(update={"attempts": 3}), cache, pauses.append)
    assert (pauses, registry.failures) == ([10, 40], [])


def test_what_the_registry_does_not_have_is_asked_for_once(registry, client, cache, pauses):
    with pytest.raises(InputError, match=r"none:1 cannot be pulled: .*manifest unknown"):
        images.pull(client, f"{registry.host}/none:1", SETTINGS, cache, pauses.append)
    assert pauses == []


def test_nothing_is_pulled_where_that_is_not_wanted(registry, client, cache):
    reference = registry.add("unwanted:1", "unwanted")
    with pytest.raises(InputError, match=r"unwanted:1 is not here and sandbox.images.pull is never"):
        images.resolve(client, reference, Images(pull="never"), cache)
    assert "unwanted/1" not in registry.asked


def test_nothing_is_pulled_without_room(registry, client, cache, pauses):
    reference = registry.add("big:1", "big")
    with pytest.raises(MachineError, match=r"big:1 is not pulled: [\d.]+ GB are free below /.*free_gb is 1e\+06"):
        images.pull(client, reference, Images(free_gb=1e6), cache, pauses.append)
    assert "big/1" not in registry.asked


def test_pulls_in_an_hour_are_capped(registry, client, cache):
    first, second = registry.add("hour:1", "first"), registry.add("hour:2", "second")
    settings = Images(free_gb=0, per_hour=1)
    images.pull(client, first, settings, cache)
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:  # an hour later
            file = cache / "pulls" / "ledger.jsonl"
            events = [json.loads(line) for line in file.read_text().splitlines()]
            file.write_text("".join(json.dumps(e | {"time": e["time"] - 3600}) + "\n" for e in events))

    images.pull(client, second, settings, cache, sleep)
    assert waited == [30, 30, 30]


def test_pulls_at_a_time_are_capped(registry, client, cache):
    reference = registry.add("slots:1", "slots")
    (cache / "pulls").mkdir(parents=True)
    other = (cache / "pulls" / "slot-0.lock").open("a")
    fcntl.flock(other, fcntl.LOCK_EX)
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 2:
            other.close()

    images.pull(client, reference, Images(free_gb=0, at_once=1), cache, sleep)
    assert len(waited) == 2


def test_a_name_that_has_moved_does_not_change_the_image(registry, client, cache):
    reference = registry.add("moved:1", "old")
    image = images.resolve(client, reference, SETTINGS, cache)
    registry.add("moved:1", "new")
    client.images.remove(reference)
    images.ensure(client, image, SETTINGS, cache)
    assert client.images.get(image.id).id == image.id
    assert images.resolve(client, reference, SETTINGS, cache).id != image.id


def test_an_image_without_a_digest_that_is_gone_is_said(registry, client, cache):
    reference = registry.add("gone:1", "gone")
    image = images.resolve(client, reference, SETTINGS, cache).model_copy(update={"repo_digest": None})
    registry.add("gone:1", "another")
    client.images.remove(reference)
    with pytest.raises(InputError, match=r"the one that this study has run in, sha256:\w+, is gone"):
        images.ensure(client, image, SETTINGS, cache)


def test_an_image_for_another_machine_is_refused(registry, client, cache):
    reference = registry.add("foreign:1", "foreign", architecture="s390x")
    with pytest.raises(InputError, match=r"foreign:1 is for s390x, this machine is amd64"):
        images.resolve(client, reference, SETTINGS, cache)


# ---- removing


def test_an_image_of_ours_is_removed_and_no_other(registry, client, cache, old_image):
    ours, theirs = registry.add("ours:1", "ours"), registry.add("theirs:1", "theirs")
    client.images.pull(*theirs.rsplit(":", 1))
    pulled = images.resolve(client, ours, SETTINGS, cache)
    found = images.resolve(client, theirs, SETTINGS, cache)
    before = names(client)
    assert images.remove(client, found, cache) is False
    assert images.remove(client, images.Image(reference="old:1", id=old_image), cache) is False
    assert names(client) == before
    assert images.remove(client, pulled, cache) is True
    assert names(client) == before - {ours}
    with pytest.raises(docker.errors.ImageNotFound):
        client.images.get(pulled.id)
    client.images.pull(*ours.rsplit(":", 1))
    assert images.remove(client, pulled, cache) is False
    assert ours in names(client)


def test_a_name_that_somebody_gave_our_image_keeps_it(registry, client, cache):
    reference = registry.add("shared:1", "shared")
    image = images.resolve(client, reference, SETTINGS, cache)
    client.images.get(reference).tag("kept", "1")
    assert images.remove(client, image, cache) is True
    assert client.images.get("kept:1").id == image.id
    assert reference not in names(client)


def test_an_image_that_a_container_uses_stays(registry, client, cache):
    reference = registry.add("used:1", "used")
    image = images.resolve(client, reference, SETTINGS, cache)
    container = client.containers.create(reference, ["none"])
    try:
        assert images.remove(client, image, cache) is False
        assert reference in names(client)
    finally:
        container.remove()
    assert images.remove(client, image, cache) is True


def test_a_line_of_the_ledger_that_a_crash_cut_short_is_passed_over(registry, client, cache):
    reference = registry.add("torn:1", "torn")
    (cache / "pulls").mkdir(parents=True)
    (cache / "pulls" / "ledger.jsonl").write_text(f'{{"time": {time.time()}, "event": "pul\n')
    image: Any = images.resolve(client, reference, SETTINGS, cache)
    assert images.remove(client, image, cache) is True
