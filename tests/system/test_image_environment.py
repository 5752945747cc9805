"""What is found in an image of a benchmark's layout, and what is said of an image that has another."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import docker
import pytest

from patchperf.config import Images
from patchperf.errors import InputError
from patchperf.sandbox import trees
from patchperf.sandbox.image_environment import (
    Access,
    ImageSpec,
    Kept,
    beyond_base,
    reopened,
    survey,
    user_files,
)

GIT = "git -c user.name=x -c user.email=x@localhost"
LAID_OUT = f"""
mkdir /testbed && cd /testbed && git init -q . && echo 'x = 1' > module.py && echo '*.so' > .gitignore
git add . && {GIT} commit -qm base && git branch base
{GIT} commit -q --allow-empty -m set-up
echo binary > built.so && mkdir nested && git init -q nested && echo y > nested/file && mkdir empty
ln -s /etc/passwd link
printf '#!/bin/sh\\ntouch /tmp/patchperf-image-ran\\n' > .git/hooks/post-checkout && chmod 755 .git/hooks/post-checkout
git checkout -q --orphan other && {GIT} commit -qm other && git checkout -q master && git pack-refs --all
git config core.fsmonitor 'touch /testbed/ran; touch /tmp/patchperf-image-ran'
"""


@pytest.fixture(scope="module")
def make_image(client: docker.DockerClient, old_image: str) -> Iterator[Callable[[str], str]]:
    """Makes an image by running a script; its name."""
    made: list[str] = []

    def make(script: str) -> str:
        container = client.containers.create(old_image, ["sh", "-ec", script], network_mode="none")
        container.start()
        assert container.wait()["StatusCode"] == 0, container.logs()
        made.append(f"made:{len(made)}")
        container.commit(*made[-1].split(":"))
        container.remove()
        return made[-1]

    yield make
    for name in made:
        client.images.remove(name)


@pytest.fixture(scope="module")
def laid_out(make_image: Callable[[str], str]) -> ImageSpec:
    return ImageSpec(image=make_image(LAID_OUT))


@pytest.fixture
def access(client: docker.DockerClient, tmp_path: Path) -> Access:
    return Access(client, Images(pull="never"), tmp_path / "cache", tmp_path / "work", "beef")


def commits(kept: Kept, name: str) -> str:
    def git(*arguments: str) -> list[str]:
        return subprocess.check_output(["git", "--git-dir", kept.repository, *arguments], text=True).splitlines()

    objects = git("cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectname)")
    ids = [line.split()[1] for line in objects if line.startswith("commit ")]
    return next(one for one in ids if git("log", "-1", "--format=%s", one) == [name])


def test_the_tree_is_kept_with_its_build_products_and_without_what_git_would_run(laid_out, access, tmp_path):
    found = survey(laid_out, access)
    kept = reopened(found, laid_out, access)
    tree = tmp_path / "tree"
    trees.checkout(kept.repository, found.commit, tree)
    files = sorted(str(path.relative_to(tree)) for path in tree.rglob("*"))
    assert files == [".gitignore", "built.so", "link", "module.py", "nested", "nested/file"]
    assert (tree / "link").readlink() == Path("/etc/passwd")
    assert trees.changed_files(tree) == ()
    assert found.head == commits(kept, "set-up")
    assert beyond_base(kept.repository, found, commits(kept, "base")) == ["built.so", "link", "nested/file"]
    trees.restore(tree, commits(kept, "base"), ["built.so", "module.py"])
    assert [change.path for change in trees.changed_files(tree)] == ["built.so"]
    assert not Path("/tmp/patchperf-image-ran").exists()


def test_python_and_programs_are_the_images(laid_out, access):
    found = survey(laid_out, access)
    assert (found.python, found.version[:4], found.prefix) == ("/usr/bin/python3", "3.9.", "/usr")
    assert found.digest == found.image.id
    assert {"python3", "git"} <= found.executables
    assert found.programs["/usr/bin"]["git"] == "ELF"
    assert found.programs["/usr/bin"]["pydoc3.9"].startswith("#!")
    assert found.finds("git", found.variables["PATH"])
    assert not found.finds("git", "/nowhere:/usr/local/bin")


def test_what_the_cache_has_lost_is_found_again(laid_out, access):
    found = survey(laid_out, access)
    shutil.rmtree(access.cache / "images")
    assert reopened(found, laid_out, access).repository.exists()


def test_an_activation_sets_variables_and_one_that_fails_is_said(laid_out, access):
    spec = laid_out.model_copy(update={"activate": "export SET=1 PATH=/opt/none:$PATH; echo hello"})
    assert spec.digest != laid_out.digest
    found = survey(spec, access)
    assert (found.variables["SET"], found.variables["PATH"].split(":")[0]) == ("1", "/opt/none")
    with pytest.raises(InputError, match=r"cannot be activated \(exit, exit code 3\): so it is; set sandbox.images"):
        survey(laid_out.model_copy(update={"activate": "echo so it is; exit 3"}), access)
    with pytest.raises(InputError, match=r"cannot be activated \(exit, exit code 1\): .*/nowhere: No such file or dir"):
        survey(laid_out.model_copy(update={"activate": "source /nowhere"}), access)


def test_an_image_of_another_base_commit_is_refused(laid_out, access):
    found = survey(laid_out, access)
    kept = reopened(found, laid_out, access)
    with pytest.raises(InputError, match=r"base commit 0{40} is not in its repository"):
        beyond_base(kept.repository, found, "0" * 40)
    with pytest.raises(InputError, match=r"base commit \w+ is not its base"):
        beyond_base(kept.repository, found, commits(kept, "other"))


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("true", "has no folder /testbed"),
        ("mkdir /testbed; touch /testbed/file", "/testbed is no git repository"),
        ("mkdir /testbed; cd /testbed; git init -q .; touch file", "the HEAD of /testbed names no commit"),
    ],
)
def test_an_image_of_another_layout_is_refused(make_image, access, script, told):
    with pytest.raises(InputError, match=told):
        survey(ImageSpec(image=make_image(script)), access)


def test_this_user_is_in_the_images_tables(laid_out, access, tmp_path, monkeypatch):
    kept = reopened(survey(laid_out, access), laid_out, access)
    assert os.getuid() != 0 or user_files(kept, tmp_path / "users") == {}
    monkeypatch.setattr(os, "getuid", lambda: 4321)
    monkeypatch.setattr(os, "getgid", lambda: 4321)
    shown = user_files(kept, tmp_path / "users")
    assert shown["/etc/passwd"].read_text().startswith("root:x:0:0:")
    assert shown["/etc/passwd"].read_text().endswith("\npatchperf:x:4321:4321:patchperf:/patchperf/home:/bin/sh\n")
    assert shown["/etc/group"].read_text().endswith("\npatchperf:x:4321:\n")
