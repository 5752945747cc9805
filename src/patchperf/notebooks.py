"""Notebooks run on a study's results, and kept with their outputs as notebook and as a page."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from nbconvert import HTMLExporter
from pygments.formatters import HtmlFormatter

from patchperf.errors import PatchperfError
from patchperf.pages.site import render
from patchperf.results import FOLDER_VARIABLE

SECONDS = 600
"""What a cell may take."""


class NotebookError(PatchperfError):
    """A cell that failed, in one line."""


def run_notebook(notebook: Path, results: Path, executed: Path, page: Path) -> None:
    """Run a notebook on a results folder in this very Python; write it with its outputs, and as a page of its own.

    Nothing of the user's own Jupyter or IPython is read or written. Raises NotebookError for a cell that fails.
    """
    document = nbformat.read(notebook, as_version=4)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory(prefix="patchperf-notebook-") as scratch:
        manager = KernelManager(
            kernel_name="python3",
            kernel_spec_manager=KernelSpecManager(kernel_dirs=[]),
            transport="ipc",
            connection_file=str(Path(scratch) / "kernel.json"),
        )
        client = NotebookClient(document, km=manager, timeout=SECONDS, record_timing=False, shutdown_kernel="immediate")
        own = {"IPYTHONDIR": scratch, "JUPYTER_RUNTIME_DIR": scratch, FOLDER_VARIABLE: str(results.resolve())}
        try:
            client.execute(cwd=str(results), env={**os.environ, **own}, cleanup_kc=True)
        except CellExecutionError as error:
            raise NotebookError(f"{notebook.name}: {error.ename}: {error.evalue}") from None
        except DeadKernelError as error:
            raise NotebookError(f"{notebook.name}: {error}: {sys.executable} -m ipykernel has to start here") from None
    executed.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(document, executed)  # type: ignore[no-untyped-call]
    exporter = HTMLExporter(template_name="basic")  # type: ignore[no-untyped-call]
    body, _ = exporter.from_notebook_node(document)
    style = (files("patchperf.pages") / "assets" / "pages.css").read_text("utf-8")
    marks = HtmlFormatter().get_style_defs(".highlight")
    title = next(iter(re.findall(r"^# (.+)$", document.cells[0].source, re.MULTILINE)), notebook.stem)
    page.write_text(render("notebook.html", title=title, body=body, style=f"{style}\n{marks}"), "utf-8")
