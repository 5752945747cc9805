"""The fixtures repeat the shapes of what ``swebench`` ships, with invented content."""

import sys
from pathlib import Path

import pytest

from patchperf.errors import InputError
from patchperf.sandbox.shipped import Shipped, from_conda, shipped_environment

EXPORTED = """\
name: testbed
channels: [defaults, conda-forge]
dependencies:
  - _libgcc_mutex=0.1=main
  - _openmp_mutex=5.1=1_gnu
  - attr=2.5.1=h166bdaf_1
  - click=8.1.7=unix_pyh707e725_0
  - h5py=3.11.0=nompi_py310hf054cd7_102
  - importlib-metadata=4.8.1=py36h06a4308_0
  - importlib_metadata=4.8.1=hd3eb1b0_0
  - matplotlib-base=3.3.4=py36h62a2d02_0
  - mpmath=1.2.0=py36h06a4308_0
  - openssl=1.1.1w=h7f8727e_0
  - python=3.6.13=h12debd9_1
  - python_abi=3.6=5_cp36m
  - setuptools=58.0.4=py36h06a4308_0
  - snuggs=1.4.7=py_1
  - typing_extensions=4.1.1=pyh06a4308_0
  - wxpython=4.2.2=py36h356f471_6
  - pip:
      - MPMath==1.3.0
      - tblib==1.7.0
prefix: /opt/somewhere
"""
TRANSLATED = Shipped(
    python="3.6",
    pip=(
        "MPMath==1.3.0",
        "click==8.1.7",
        "h5py==3.11.0",
        "importlib-metadata==4.8.1",
        "matplotlib==3.3.4",
        "setuptools==58.0.4",
        "snuggs==1.4.7",
        "tblib==1.7.0",
        "typing-extensions==4.1.1",
    ),
    complete=True,
    left_out=("wxpython==4.2.2",),
)
CONSTANTS = """\
SPECS_B = {
    version: {"python": "3.9", "packages": "'numpy==1.19.2' pytest", "pip_packages": ["pytz==2024.2", "pytest"]}
    for version in ("1.0", "1.1")
}
SPECS_B["2.0"] = {"python": "3.10", "packages": "requirements.txt", "install": "pip install -e ."}
SPECS_B["3.0"] = {"python": "3.11", "packages": "environment.yml"}
SPECS_B["4.0"] = {"python": "3.12"}
NAME = {"a/b": SPECS_B}
MAP_REPO_TO_REQS_PATHS = {"a/b": ["no/such.txt", "requirements/dev.txt"]}
"""
REQUIREMENTS = {
    "requirements/dev.txt": "# notes\n-r base.txt\n--requirement ../more.txt\n-e .\n.[tests]\n\ntox>=4 # runner\n",
    "requirements/base.txt": "six; python_version < '3'\nanchor @ file:///x#egg=1\n",
    "more.txt": "docutils\n",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package ``swebench`` that can be found but fails when imported."""
    folder = tmp_path / "site" / "swebench"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(str(folder.parent))
    return folder


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def with_constants(package: Path) -> None:
    put(package / "harness/constants/python.py", CONSTANTS.replace("NAME", "MAP_REPO_VERSION_TO_SPECS_PY"))


def test_an_exported_conda_environment_becomes_pins() -> None:
    assert from_conda(EXPORTED, "here") == TRANSLATED


def test_an_empty_pip_section_is_none() -> None:
    assert from_conda("dependencies:\n  - python=3.9.1=h1_0\n  - pip:\n", "here").pip == ()


@pytest.mark.parametrize("text", ["", "a: b", "dependencies: [x=1=py_0]", "dependencies: [python=3.9]", "a: [", "3"])
def test_what_is_no_exported_environment_is_reported(text: str) -> None:
    with pytest.raises(InputError, match="here: no exported conda environment") as raised:
        from_conda(text, "here")
    assert "\n" not in str(raised.value)


def test_an_instances_own_file_comes_before_its_repositorys_version(package: Path) -> None:
    with_constants(package)
    put(package / "resources/swebench-og/a__b-c/12/environment.yml", EXPORTED)
    assert shipped_environment("a__b-c-12", "a/b", "1.0", None) == TRANSLATED
    assert shipped_environment("a__b-c-13", "a/b", "1.0", None).python == "3.9"


def test_packages_of_a_repositorys_version_come_with_pips(package: Path) -> None:
    with_constants(package)
    expected = Shipped(python="3.9", pip=("numpy==1.19.2", "pytest", "pytz==2024.2"), complete=False)
    assert shipped_environment("a__b-1", "a/b", "1.1", None) == expected
    assert shipped_environment("a__b-1", "a/b", "4.0", None) == Shipped(python="3.12", pip=(), complete=False)


def test_the_single_file_of_release_2_is_read_too(package: Path) -> None:
    put(package / "harness/constants.py", CONSTANTS.replace("NAME", "MAP_REPO_VERSION_TO_SPECS"))
    assert shipped_environment("a__b-1", "a/b", "1.0", None).python == "3.9"


def test_requirements_of_the_repository_are_read_with_what_they_include(package: Path) -> None:
    with_constants(package)
    shipped = shipped_environment("a__b-1", "a/b", "2.0", REQUIREMENTS.get)
    assert shipped.pip == ("six; python_version < '3'", "anchor @ file:///x#egg=1", "docutils", "tox>=4")


@pytest.mark.parametrize(
    ("version", "read", "said"),
    [
        ("9.9", None, r"swebench .* knows no version 9\.9 of a/b"),
        ("", None, r"swebench .* knows no version \(none given\) of a/b"),
        ("2.0", None, r"refers to requirements in a/b \(no/such\.txt, requirements/dev\.txt\), which cannot be read"),
        ("2.0", {}.get, "which cannot be read"),
        ("2.0", {"requirements/dev.txt": "-r gone.txt"}.get, r"requirements/gone\.txt in a/b: no such file"),
        ("3.0", None, "refers to a conda file in a/b, which pip cannot build"),
    ],
)
def test_what_cannot_be_built_is_reported(package: Path, version: str, read: object, said: str) -> None:
    with_constants(package)
    with pytest.raises(InputError, match=said):
        shipped_environment("a__b-1", "a/b", version, read)  # type: ignore[arg-type]


def test_a_package_without_environments_is_reported(package: Path) -> None:
    assert package.is_dir()
    with pytest.raises(
        InputError, match=r"swebench .* has none \(wheels of 2\.x to 4\.x have, by repository version\)"
    ):
        shipped_environment("a__b-1", "a/b", "1.0", None)


def test_without_the_package_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "swebench", None)
    with pytest.raises(InputError, match="the package swebench is not installed"):
        shipped_environment("a__b-1", "a/b", "1.0", None)
