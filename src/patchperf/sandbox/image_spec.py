"""Which image an instance is run in; a module of its own, since reading rows shall not take a Docker client."""

from __future__ import annotations

import platform

from pydantic import BaseModel, ConfigDict

from patchperf.study.instance import content_digest


class ImageSpec(BaseModel):
    """An image by its name in the dataset, and the shell text that activates its Python (None: as SWE-bench's)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    image: str
    activate: str | None = None

    @property
    def digest(self) -> str:
        """SHA-256 over the name and the activation, for this kind of machine; the content is not known before."""
        return content_digest({**self.model_dump(), "machine": platform.machine()})
