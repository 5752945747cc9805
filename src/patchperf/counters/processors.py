"""What libraries choose their code by: vector extensions that emulated processors lack, and limits pinned for glibc."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

PINNED: Mapping[str, str] = MappingProxyType(
    {
        "GLIBC_TUNABLES": "glibc.cpu.x86_rep_movsb_threshold=0x800:glibc.cpu.x86_rep_stosb_threshold=0x800"
        ":glibc.cpu.x86_non_temporal_threshold=0xc0000"
    }
)
"""For emulated programs: glibc derives from a machine's caches the sizes from which on it copies otherwise."""

_BEYOND_AVX2 = ("avx512", "avx10", "avx_vnni", "amx", "vaes", "vpclmulqdq", "gfni")


def beyond_avx2(cpuinfo: Path = Path("/proc/cpuinfo")) -> tuple[str, ...]:
    """Families of vector extensions that came after AVX2 and the processor has, by their first letters."""
    for line in cpuinfo.read_text("utf-8", "replace").splitlines() if cpuinfo.exists() else ():
        key, _, flags = line.partition(":")
        if key.strip() == "flags":
            return tuple(name for name in _BEYOND_AVX2 if any(flag.startswith(name) for flag in flags.split()))
    return ()
