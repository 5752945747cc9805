"""The disk, kernel and initramfs of an emulated server: Debian with Docker and systemd, made once."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
from fnmatch import fnmatch
from pathlib import Path

from debian_roots import Recipe, made_once, unpacked
from initramfs import Initramfs

_RECIPE = Recipe(
    "bookworm",
    "amd64",
    "minbase",
    (
        "linux-image-cloud-amd64",
        "bubblewrap",
        "busybox-static",
        "docker.io",
        "iproute2",
        "iptables",
        "kmod",
        "procps",
        "python3",
        "systemd-sysv",
    ),
)
_DROPPED = (
    "boot/*",
    "usr/share/doc/*",
    "usr/share/man/*",
    "usr/share/locale/*",
    "var/cache/apt/*",
    "var/lib/apt/lists/*",
)
_MODULES = ("virtio", "virtio_ring", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci", "virtio_blk")
"""Without these the kernel sees no disk; in the order in which they need each other."""

_DISK_MB = 1500
_DOCKER = {"bridge": "none", "iptables": False, "exec-opts": ["native.cgroupdriver=cgroupfs"]}
_FIRST = """#!/bin/busybox sh
/bin/busybox mount -t devtmpfs devtmpfs /dev
echo up >/dev/ttyS1
for module in {modules}; do /bin/busybox insmod /$module.ko; done
/bin/busybox mount -t ext4 /dev/vda /root
/bin/busybox mount -t ext4 /dev/vdb /root/work
exec /bin/busybox switch_root /root {init}
"""
_SERVICE = """[Unit]
After=docker.service
[Service]
Type=oneshot
ExecStart=/work/run.sh
TimeoutStartSec=infinity
StandardOutput=file:/dev/ttyS1
StandardError=inherit
[Install]
WantedBy=multi-user.target
"""


def server_machine() -> Path:
    """A folder with ``kernel``, ``disk.img`` and, for each first process, ``initramfs-own`` and ``initramfs-systemd``.

    The second disk is mounted on /work; there are the programs that the first process runs. The second serial line says
    "up" as soon as the kernel is.
    """
    return made_once("core-group-server", _RECIPE, _machine)


def _machine(tar: Path, folder: Path) -> None:
    root = folder / "root"
    unpacked(tar, root)
    kernel = next(root.glob("boot/vmlinuz-*"))
    shutil.copyfile(kernel, folder / "kernel")
    modules = root / "usr/lib/modules" / kernel.name.removeprefix("vmlinuz-")
    for init, program in (("own", "/work/init.py"), ("systemd", "/lib/systemd/systemd")):
        with (folder / f"initramfs-{init}").open("wb") as file:
            archive = Initramfs(file)
            archive.add_console()
            for name in ("bin", "root"):
                archive.add(name, stat.S_IFDIR | 0o755)
            archive.add("bin/busybox", stat.S_IFREG | 0o755, (root / "usr/bin/busybox").read_bytes())
            for name in _MODULES:
                archive.add(f"{name}.ko", stat.S_IFREG | 0o644, next(modules.rglob(f"{name}.ko")).read_bytes())
            first = _FIRST.format(modules=" ".join(_MODULES), init=program)
            archive.add("init", stat.S_IFREG | 0o755, first.encode())
            archive.end()
    for path in sorted(root.rglob("*"), reverse=True):
        name = str(path.relative_to(root))
        if any(fnmatch(name, dropped) for dropped in _DROPPED):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    (root / "work").mkdir()
    (root / "etc/docker").mkdir(exist_ok=True)
    (root / "etc/docker/daemon.json").write_text(json.dumps(_DOCKER))
    service = root / "etc/systemd/system/scenario.service"
    service.write_text(_SERVICE)
    wanted = root / "etc/systemd/system/multi-user.target.wants/scenario.service"
    wanted.parent.mkdir(exist_ok=True)
    wanted.symlink_to("../scenario.service")
    make_disk(folder / "disk.img", root, _DISK_MB)
    shutil.rmtree(root)


def make_disk(file: Path, folder: Path, megabytes: int) -> Path:
    """A file system with what is in a folder, owned as it is there."""
    features = ["-O", "^has_journal", "-E", "root_owner=0:0"]
    subprocess.run(
        ["mke2fs", "-q", "-F", "-t", "ext4", *features, "-d", folder, file, f"{megabytes}M"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return file
