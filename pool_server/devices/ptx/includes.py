"""What a source may include: headers of known folders, by relative names.

NVRTC opens whatever file an #include names and quotes its lines in the log, so a source could read
the server's files. Directives are looked for in the raw text, also within comments and strings:
better to refuse a strange comment than to be fooled by a strange string.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from cupool.proto.kernels import ARCHITECTURES

_SPLICE = re.compile(r"(\\|\?\?/)[ \t\v\f]*(\r\n|\r|\n)")
_DIRECTIVE = re.compile(
    r"(?:#|%:|\?\?=)(?:\s|/\*.*?\*/)*(include_next|include|import|embed)(?![A-Za-z0-9_$])((?:[^\S\r\n]|/\*.*?\*/)*)([^\r\n]*)",
    re.S,
)
_SAFE = re.compile(r'(?:<\s*([\w./+-]+)\s*>|"([\w./+-]+)")')
_PROBE = re.compile(
    r"(ifn?def\s+|defined\s*\(?\s*)?__has_(?:include|include_next|embed)\b\s*\(?\s*([^\r\n]*)"
)


def _is_safe(operand: str) -> bool:
    found = _SAFE.match(operand)
    if not found:
        return False
    path = found.group(1) or found.group(2)
    return not path.startswith("/") and ".." not in path.split("/")


def forbidden(source: str) -> str | None:
    """Return the first directive that may not be, or None."""
    for text in {source, _SPLICE.sub("", source), source.replace("\\\n", "")}:
        for found in _DIRECTIVE.finditer(text):
            operand = found.group(3)
            if found.group(1) != "include" or not _is_safe(operand):
                return f"#{found.group(1)} {operand[:80]}".strip()
        for found in _PROBE.finditer(text):
            if not found.group(1) and not _is_safe(found.group(2)):
                return found.group(0)[:80]
    return None


_ALLOWED = re.compile(
    r"-{1,2}(?:D.+|U.+|define-macro=.+|undefine-macro=.+|std=c\+\+(?:03|11|14|17|20)|use_fast_math|ftz=(?:true|false)|"
    r"prec-sqrt=(?:true|false)|prec-div=(?:true|false)|fmad=(?:true|false)|extra-device-vectorization|lineinfo|"
    r"generate-line-info|G|device-debug|maxrregcount=\d+|restrict|w|disable-warnings|default-device|"
    r"device-as-default-execution-space|builtin-(?:move-forward|initializer-list)=(?:true|false)|"
    r"diag-(?:error|suppress|warn)=[\w,]+|no-display-error-number|err-no|minimal|dopt=on|Werror.*|"
    r"device-int128|device-float128|jump-table-density=\d+|relocatable-device-code=(?:true|false)|rdc=(?:true|false)|dc|dw)$",
    re.S,
)
_PAIRED = ("-D", "-U", "--define-macro", "--undefine-macro", "-std", "--std", "-maxrregcount")


def _known_architecture(option: str) -> bool:
    found = re.search(r"=(?:compute|sm|lto)_(\d+)[af]?$", option)
    return found is not None and int(found[1]) in ARCHITECTURES


def checked_options(options: Iterable[str]) -> tuple[list[str], str | None]:
    """Return the options for NVRTC, and the first one that may not be.

    The architecture is the mock's own and left out here, if it is one that there is; folders of the
    client's machine mean nothing on the server.
    """
    kept: list[str] = []
    waiting = ""
    for option in options:
        if waiting:
            option, waiting = (waiting + option if len(waiting) == 2 else f"{waiting}={option}"), ""
        elif option in _PAIRED:
            waiting = option
            continue
        if re.match(r"-{1,2}(?:gpu-architecture|arch)=", option):
            if not _known_architecture(option):
                return kept, option
            continue
        if "\n" in option or "\0" in option or not _ALLOWED.match(option):
            return kept, option
        kept.append(option)
    return kept, waiting or None
