"""Header files of the user's: they are on this machine, the compiler is not.

What a source includes from a folder named by `-I`, or from texts that are given with it, is put
into the source before it is sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from cupool.proto.kernels import MAX_SOURCE_CHARS

_INCLUDE = re.compile(
    r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)[^\n]*$', re.MULTILINE
)
_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once[^\n]*$", re.MULTILINE)
_PREFIXES = ("--include-path=", "-I")
_MAX_DEPTH = 64


def resolve(
    source: str, options: Sequence[str], texts: Mapping[str, str] = MappingProxyType({})
) -> tuple[str, tuple[str, ...]]:
    """Return a source with the user's headers in it, and the options without their folders.

    Args:
        texts: headers by the names under which they are included.

    Raises:
        ValueError: headers that include each other without end, or are too large together.
    """
    folders: list[Path] = []
    rest: list[str] = []
    words = iter(options)
    for word in words:
        folder = _folder(word)
        if word in ("-I", "--include-path"):
            folder = next(words, "")
        if folder is None:
            rest.append(word)
        else:
            folders.append(Path(folder))
    if folders or texts:
        source = _Reader(folders, texts).expand(source, 0)
    return source, tuple(rest)


def _folder(option: str) -> str | None:
    for prefix in _PREFIXES:
        if option.startswith(prefix) and option != "-I":
            return option[len(prefix) :]
    return None


class _Reader:
    def __init__(self, folders: Sequence[Path], texts: Mapping[str, str]) -> None:
        self._folders = folders
        self._texts = texts
        self._once: set[Path | str] = set()
        self._size_chars = 0

    def expand(self, source: str, depth: int, home: Path | None = None) -> str:
        if depth > _MAX_DEPTH:
            raise ValueError("header files include each other more than 64 levels deep")

        def replace(found: re.Match[str]) -> str:
            name = found[1] or found[2]
            path = self._find(name, home if found[1] else None)
            if path is None and name not in self._texts:
                return found[0]  # one of the compiler's own
            if (path or name) in self._once:
                return ""
            if path is None:
                text = self._texts[name]
            else:
                text = path.read_text(encoding="utf-8", errors="replace")
            self._size_chars += len(text)
            if self._size_chars > MAX_SOURCE_CHARS:
                raise ValueError(f"header files of more than {MAX_SOURCE_CHARS} characters")
            if _ONCE.search(text):
                self._once.add(path or name)
                text = _ONCE.sub("", text)
            return self.expand(text, depth + 1, None if path is None else path.parent)

        return _INCLUDE.sub(replace, source)

    def _find(self, name: str, home: Path | None) -> Path | None:
        for folder in ([home] if home is not None else []) + list(self._folders):
            path = (folder / name).resolve()
            if path.is_file():
                return path
        return None
