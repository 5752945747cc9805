# Two commands: `make study` sets up and runs the embedded study to its report, `make test` sets up and runs every test.

PYTHON ?= python3
VENV := .venv
UV_VERSION := $(shell sed -n 's/^uv==\([0-9.]*\).*/\1/p' requirements.lock)

# Modules are compiled when they are first imported, and kept.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: study test

study: $(VENV)/ready
	$(VENV)/bin/snakemake --cores all

test: $(VENV)/ready
	$(VENV)/bin/pytest

$(VENV)/ready: requirements.lock pyproject.toml envs/system-packages.sh
	sh envs/system-packages.sh
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'patchperf needs Python 3.11 or newer: run make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)' >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	$(VENV)/bin/uv pip install --quiet --python $(VENV)/bin/python --requirement requirements.lock
	$(VENV)/bin/uv pip install --quiet --python $(VENV)/bin/python --no-deps --editable .
	touch $@
