"""The sandbox of this machine: the strongest that its kernel grants, and a clear word where that is not enough."""

from __future__ import annotations

import tempfile
from pathlib import Path

from patchperf.config import SandboxSettings
from patchperf.errors import MachineError
from patchperf.sandbox.namespaces import Namespaces
from patchperf.sandbox.placement import ANYWHERE, Placement
from patchperf.sandbox.processes import Processes
from patchperf.sandbox.protocol import Command, Limits, Sandbox

DESCRIPTIONS = {
    "namespaces+cgroup": "own user, network (loopback only), pid, ipc, uts and mount namespaces; the kernel bounds "
    "memory and processes of a command as a whole",
    "namespaces+rlimits": "own user, network (loopback only), pid, ipc, uts and mount namespaces; memory is bounded "
    "for each process by the kernel, in sum by a look twice a second",
    "processes-only": "limits and a sure end of every process, but the network is open and every file of the user is "
    "within reach: no isolation",
}

_NAMESPACES = ("user", "net", "pid", "ipc", "uts", "mnt")
_ADVICE = (
    "have bubblewrap installed and user namespaces granted (sysctl user.max_user_namespaces, "
    "kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns; containers: --privileged), "
    "or set sandbox.confinement to best-effort and trust the patches"
)


def local_sandbox(settings: SandboxSettings, work: Path, placement: Placement = ANYWHERE) -> Sandbox:
    """The sandbox for this machine, tried once for real: namespaces, or, if those are refused, processes only.

    ``work`` is a folder of our own on the trees' file system. The sandbox's ``reason`` says why it is not namespaces.
    Raises MachineError, with what was refused, where ``confinement`` is "required" and namespaces are not to be had.
    """
    try:
        sandbox = Namespaces(placement=placement)
        _try(sandbox)
    except MachineError as error:
        if settings.confinement == "required":
            raise MachineError(f"patches cannot be confined: {error}; {_ADVICE}") from None
        return Processes(work, reason=str(error), placement=placement)
    return sandbox


def _try(sandbox: Namespaces) -> None:
    """Run a command that tells in which namespaces it is; raises MachineError if one of them is ours."""
    with tempfile.TemporaryDirectory(prefix="patchperf-") as tree:
        links = [f"/proc/self/ns/{name}" for name in _NAMESPACES]
        told = sandbox.run(Command(("/usr/bin/readlink", *links), Path(tree), timeout=60), Limits())
    inside = told.output.split()
    if not told.ok or len(inside) != len(links):
        how = f"{told.ended} {told.exit_code}"
        raise MachineError(f"a first command in namespaces failed ({how}): {told.output[-200:]!r}")
    ours = [str(Path(link).readlink()) for link in links]
    shared = [name for name, here, there in zip(_NAMESPACES, ours, inside, strict=True) if here == there]
    if shared:
        raise MachineError(f"bwrap leaves the command in our own {', '.join(shared)} namespace")
