"""What every command of a study finds the same: locale, time zone, and how large libraries may make their pools."""

from __future__ import annotations

POOLS = (
    "BLIS_NUM_THREADS",
    "GOTO_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NUMEXPR_MAX_THREADS",
    "NUMEXPR_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "PYTEST_XDIST_AUTO_NUM_WORKERS",
    "RAYON_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""Variables by which libraries and test runners are told how many threads or processes to start."""

_LOCALE = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def fixed_variables(pool: int) -> dict[str, str]:
    """The variables that are the same for every command, with pools of ``pool`` threads."""
    return _LOCALE | dict.fromkeys(POOLS, str(pool))
