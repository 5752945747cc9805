"""Images with the layout of SWE-bench's: a project in /testbed, an old Python to activate, a commit of the set-up."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import docker
from debian_roots import CACHE

from patchperf.sandbox.locks import exclusive
from patchperf.sandbox.mirrors import commit_tree

ROOT = Path(__file__).resolve().parents[2]
REPOSITORIES = ROOT / "resources" / "mini" / "repositories"
WHEELS = (
    "exceptiongroup==1.3.0",
    "iniconfig==2.1.0",
    "packaging==25.0",
    "pluggy==1.6.0",
    "pygments==2.19.2",
    "pytest==8.4.2",
    "tomli==2.2.1",
    "typing-extensions==4.15.0",
)
ACTIVATE = """
conda() {
    [ "$1" = activate ] || return 1
    export CONDA_DEFAULT_ENV="$2" CONDA_PREFIX="/opt/miniconda3/envs/$2"
    export PATH="$CONDA_PREFIX/bin:$PATH" PS1="($2) $PS1"
}
"""
"""Sourced as conda's own script, with the same contract."""

RECIPE = """
FROM {base}
COPY activate /opt/miniconda3/bin/activate
COPY wheels /wheels
RUN python3 -m venv /opt/miniconda3/envs/testbed \\
 && /opt/miniconda3/envs/testbed/bin/pip install -q --no-index --find-links /wheels pytest \\
 && rm -r /wheels
COPY testbed /testbed
RUN cd /opt/miniconda3/envs/testbed/lib/python3.*/site-packages && printf '/testbed\\n/testbed/src\\n' > testbed.pth
RUN cd /testbed \\
 && echo built > build_product.egg-info && echo 'build_product.egg-info' > .git/info/exclude \\
 && echo '# set up' >> README.setup && git add README.setup \\
 && git -c user.name=SWE-bench -c user.email=setup@example.org commit -q -m SWE-bench
ENV SETTING=from-image
WORKDIR /testbed
"""


def wheels() -> Path:
    """What the images' Python is given, downloaded once."""
    key = hashlib.sha256(repr(WHEELS).encode()).hexdigest()[:12]
    folder = CACHE / f"testbed-wheels-{key}"
    with exclusive(CACHE / "testbed-wheels.lock"):
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=CACHE, prefix="testbed-wheels.unfinished-") as scratch:
                half = Path(scratch) / "wheels"
                options = ("--quiet", "--no-deps", "--only-binary", ":all:", "--python-version", "3.9")
                subprocess.run([sys.executable, "-m", "pip", "download", *options, "--dest", half, *WHEELS], check=True)
                half.rename(folder)
    return folder


def build_image(client: docker.DockerClient, base: str, repository: str, name: str) -> str:
    """An image of one of the mini-study's repositories ("owner__name"); its id."""
    with tempfile.TemporaryDirectory(prefix="patchperf-image-") as scratch:
        context = Path(scratch)
        shutil.copytree(wheels(), context / "wheels")
        (context / "activate").write_text(ACTIVATE)
        (context / "Dockerfile").write_text(RECIPE.format(base=base))
        commit_tree(REPOSITORIES / repository, context / "bare.git")
        subprocess.run(["git", "clone", "-q", context / "bare.git", context / "testbed"], check=True)
        shutil.rmtree(context / "bare.git")
        image, _ = client.images.build(path=scratch, tag=name, network_mode="none", rm=True, forcerm=True)
    return str(image.id)
