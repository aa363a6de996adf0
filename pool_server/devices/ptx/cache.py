"""Compiled code on disk, by content: bounded, and safe to share between processes.

A file is written beside its place and moved there, and its first bytes are the digest of the rest:
a file that was cut short or tampered with is the same as none. The folder belongs to its user
alone, because what it holds is executed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

_DIGEST_BYTES = 32


class DiskCache:
    """Files by name, the oldest-used of which go when there are too many bytes.

    Args:
        folder: where they are; None keeps nothing.
        size_bytes: how much they may take together.
    """

    def __init__(self, folder: Path | None, size_bytes: int) -> None:
        self.folder = folder
        self.size_bytes = size_bytes
        self._written = 0
        if folder is not None:
            try:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                status = folder.stat()
                if status.st_uid != os.geteuid() or status.st_mode & 0o022:
                    self.folder = None
            except OSError:
                self.folder = None

    def get(self, name: str) -> bytes | None:
        if self.folder is None:
            return None
        path = self.folder / name
        try:
            data = path.read_bytes()
            if hashlib.sha256(data[_DIGEST_BYTES:]).digest() != data[:_DIGEST_BYTES]:
                path.unlink(missing_ok=True)
                return None
            os.utime(path)
        except OSError:
            return None
        return data[_DIGEST_BYTES:]

    def put(self, name: str, data: bytes) -> None:
        """Keep a file if that is possible; a full disk is no error."""
        if self.folder is None or len(data) > self.size_bytes // 4:
            return
        try:
            number, temporary = tempfile.mkstemp(dir=self.folder, prefix=".new-")
            try:
                with os.fdopen(number, "wb") as file:
                    file.write(hashlib.sha256(data).digest() + data)
                os.replace(temporary, self.folder / name)
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)
                return
            self._written += len(data)
            if self._written > self.size_bytes // 16 or self._written == len(data):
                self._trim()
        except OSError:
            return

    def _trim(self) -> None:
        """Remove what was used least recently."""
        assert self.folder is not None
        self._written = 1
        entries = []
        with os.scandir(self.folder) as found:
            for entry in found:
                with contextlib.suppress(OSError):
                    status = entry.stat()
                    entries.append((status.st_mtime, status.st_size, entry.path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= self.size_bytes:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size
