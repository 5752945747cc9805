"""A registry of images on this machine's loopback that serves small images and can be made to fail."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
CONFIG = "application/vnd.docker.container.image.v1+json"
LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"


class Registry:
    """Images by "name:tag"; ``failures`` are HTTP statuses to answer the next attempts at manifests with.

    ``asked`` are the manifests asked for.
    """

    def __init__(self, port: int) -> None:
        self.host = f"127.0.0.1:{port}"
        self.failures: list[int] = []
        self.asked: list[str] = []
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[str, bytes] = {}

    def add(self, name: str, content: str, architecture: str = "amd64") -> str:
        """Have an image of one file under "name:tag"; its name with the registry's host."""
        layer = _tar({"content": content.encode()})
        described = {
            "architecture": architecture,
            "os": "linux",
            "config": {},
            "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
        }
        config, packed = json.dumps(described).encode(), gzip.compress(layer, mtime=0)
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {"mediaType": CONFIG, "size": len(config), "digest": _digest(config)},
            "layers": [{"mediaType": LAYER, "size": len(packed), "digest": _digest(packed)}],
        }
        text = json.dumps(manifest).encode()
        self.blobs |= {_digest(config): config, _digest(packed): packed}
        repository, _, tag = name.partition(":")
        self.manifests |= {f"{repository}/{tag}": text, f"{repository}/{_digest(text)}": text}
        return f"{self.host}/{name}"


def _tar(files: Mapping[str, bytes]) -> bytes:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return whole.getvalue()


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@contextmanager
def running_registry() -> Iterator[Registry]:
    """A registry that serves as long as the context."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = self.path.removeprefix("/v2/").split("/")
            if self.path == "/v2/":
                self.answer(200, b"{}", "application/json")
            elif parts[-2] == "manifests":
                key = f"{'/'.join(parts[:-2])}/{parts[-1]}"
                if self.command == "GET":
                    registry.asked.append(key)
                status = registry.failures[0] if registry.failures else 200
                if registry.failures and self.command == "GET":
                    registry.failures.pop(0)
                found = registry.manifests.get(key)
                if status == 200 and found is None:
                    status = 404
                text = found if status == 200 and found is not None else b'{"errors": [{"code": "MANIFEST_UNKNOWN"}]}'
                self.answer(status, text, MANIFEST if status == 200 else "application/json")
            else:
                self.answer(200, registry.blobs[parts[-1]], "application/octet-stream")

        do_HEAD = do_GET  # noqa: N815

        def answer(self, status: int, content: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Docker-Content-Digest", _digest(content))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        registry = Registry(server.server_address[1])
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield registry
        finally:
            server.shutdown()
            serving.join()
