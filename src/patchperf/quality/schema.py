"""Columns and types of the tables that the quality of patches is read from and written to."""

from __future__ import annotations

from patchperf.stats.schema import Schema

PATCHES: Schema = {
    "instance_id": "str",
    "source": "str",
    "correct": "bool",
    "compiles": "bool",
    "complexity": "float64",
    "complexity_reference": "float64",
    "findings": "float64",
    "findings_reference": "float64",
    "lines": "float64",
    "tokens_per_second": "float64",
    "runtime": "float64",
    "maintainability": "float64",
    "security": "float64",
    "note": "str",
}

COUNTS: Schema = {
    "instance_id": "str",
    "source": "str",
    "compiles": "bool",
    "complexity": "float64",
    "complexity_reference": "float64",
    "findings": "float64",
    "findings_reference": "float64",
    "lines": "float64",
    "note": "str",
}

SPEEDS: Schema = {
    "source": "str",
    "tokens_per_second": "float64",
    "total_parameters": "float64",
    "active_parameters": "float64",
}

GENERATION_SPEED: Schema = {
    "source": "str",
    "tokens_per_second": "float64",
    "relative_speed": "float64",
    "total_parameters": "float64",
    "active_parameters": "float64",
    "rho_total": "float64",
    "n_total": "int64",
    "rho_active": "float64",
    "n_active": "int64",
}

QUALITY: Schema = {
    "normalisation": "str",
    "scheme": "str",
    "source": "str",
    "instances": "int64",
    "patches": "int64",
    "correctness": "float64",
    "maintainability": "float64",
    "security": "float64",
    "efficiency": "float64",
    "weight_correctness": "float64",
    "weight_maintainability": "float64",
    "weight_security": "float64",
    "weight_efficiency": "float64",
    "index": "float64",
    "low": "float64",
    "high": "float64",
    "rank": "Int64",
    "first": "float64",
}

MCNEMAR: Schema = {
    "source_i": "str",
    "source_j": "str",
    "n": "int64",
    "both": "int64",
    "only_i": "int64",
    "only_j": "int64",
    "neither": "int64",
    "p": "float64",
    "p_holm": "float64",
}

WEIGHTS: Schema = {
    "scheme": "str",
    "rank": "int64",
    "source": "str",
    "index": "float64",
    "share": "float64",
    "to_first": "float64",
    "rival": "str",
    "to_next": "float64",
    "next": "str",
    "first_correctness": "float64",
    "first_maintainability": "float64",
    "first_security": "float64",
    "first_efficiency": "float64",
}

SIZES: Schema = {
    "source": "str",
    "lines": "str",
    "instances": "int64",
    "correct": "int64",
    "share": "float64",
    "low": "float64",
    "high": "float64",
}

TABLES: dict[str, Schema] = {
    "quality": QUALITY,
    "quality_patches": PATCHES,
    "mcnemar": MCNEMAR,
    "quality_weights": WEIGHTS,
    "correctness_by_size": SIZES,
    "generation_speed": GENERATION_SPEED,
}
"""The tables of a rating by name."""
