"""`cupy.cuda.driver`: linking PTX of several sources to one text, which a device then compiles.

What each directive means: https://docs.nvidia.com/cuda/parallel-thread-execution, "Linking
Directives". The text is put together here; whether it is right says the device that loads it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from cupool.errors import OperationNotSupported

__all__ = ["linkAddData", "linkAddFile", "linkComplete", "linkCreate", "linkDestroy"]

_INVALID_PTX, _INVALID_SOURCE, _FILE_NOT_FOUND, _INVALID_HANDLE = 218, 300, 301, 400
_PTX = 1
_FIRST = 0x5D00_0000_0000
_numbers = itertools.count(1)
_states: dict[int, list[tuple[str, str]]] = {}
"""Names and texts of what was added, by the number of the state."""

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|[{};]', re.S)
_LINE = re.compile(r"\s*\.(?:version|target|address_size|file|loc)\b[^\n;{]*;?")
_HEADER = re.compile(r"\s*\.(version|target|address_size)\s+([^\n;/]+)")
_IS_FUNCTION = re.compile(r"\.(?:func|entry)\b")
_FUNCTION_NAME = re.compile(r"\.(?:func|entry)\s*(?:\([^)]*\)\s*)?([\w$%]+)")
_VARIABLE_NAME = re.compile(r"([\w$%]+)\s*(?:\[[^\]]*\]\s*)*(?:=|;)")
_LINKAGE = re.compile(r"\.(extern|visible|weak|common)\b")


def _error(status: int, text: str = "") -> Exception:
    from cupool.client_shim.cupy.cuda import driver

    error = driver.CUDADriverError(status)
    return driver.CUDADriverError(status, f"{error}: {text}") if text else error


def linkCreate() -> int:
    """Return a number for a new link."""
    number = _FIRST + 0x100 * next(_numbers)
    _states[number] = []
    return number


def _inputs(state: int) -> list[tuple[str, str]]:
    if state not in _states:
        raise _error(_INVALID_HANDLE)
    return _states[state]


def linkAddData(state: int, input_type: int, data: bytes, name: str) -> None:
    """Add PTX to a link.

    Args:
        input_type: CU_JIT_INPUT_PTX.
        name: for error texts.

    Raises:
        CUDADriverError: no such link; no PTX.
        OperationNotSupported: another type.
    """
    inputs = _inputs(state)
    if input_type != _PTX:
        raise OperationNotSupported(
            "cupool links PTX only: cubins, objects and libraries are code of one GPU",
            remedy="compile it to PTX (nvrtc, nvcc -ptx), or link on the GPU's machine",
        )
    text = data.rstrip(b"\0").decode("utf-8", "replace")
    if not re.search(r"^\s*\.version\s", text, re.M):
        raise _error(_INVALID_PTX, name)
    inputs.append((name, text))


def linkAddFile(state: int, input_type: int, path: str) -> None:
    """Add a file of this machine; see `linkAddData`.

    Raises:
        CUDADriverError: there is no such file.
    """
    try:
        data = Path(path).read_bytes()
    except OSError:
        raise _error(_FILE_NOT_FOUND) from None
    linkAddData(state, input_type, data, path)


def linkComplete(state: int) -> bytes:
    """Return the linked image, PTX, for `moduleLoadData`.

    Raises:
        CUDADriverError: no such link, or one without input; a symbol that is defined twice or
            nowhere.
    """
    inputs = _inputs(state)
    if not inputs:
        raise _error(_INVALID_SOURCE, "nothing was added")
    return (inputs[0][1] if len(inputs) == 1 else _linked(inputs)).encode()


def linkDestroy(state: int) -> None:
    """Forget a link."""
    _inputs(state)
    del _states[state]


# ------------------------------------------------------------------- joining texts


class _Statement:
    """A directive at the top of a source: a function with its body, or a variable."""

    def __init__(self, text: str) -> None:
        self.text = text
        head = text.partition("{")[0] if _IS_FUNCTION.search(text.partition("{")[0]) else text
        self.is_function = _IS_FUNCTION.search(head) is not None
        named = (_FUNCTION_NAME if self.is_function else _VARIABLE_NAME).search(head)
        self.name = named[1] if named else ""
        linkage = _LINKAGE.search(head)
        self.linkage = linkage[1] if linkage else ""
        body = text.rstrip().endswith("}")
        self.is_defined = body if self.is_function else self.linkage != "extern"


def _statements(text: str) -> Iterator[str]:
    """Cut a source into its directives; those that end with their line come as such lines."""
    start = position = depth = 0
    while position < len(text):
        if not depth and text[start:position].strip() == "":
            line = _LINE.match(text, position)
            if line:
                yield line[0]
                start = position = line.end()
                continue
        token = _TOKEN.search(text, position)
        if token is None:
            break
        position = token.end()
        if token[0][0] in '"/':
            if not depth and text[start : token.start()].strip() == "":
                start = position  # a comment between directives
            continue
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth == 0 and (token[0] == ";" or _closes(text[start:position])):
            yield text[start:position]
            start = position


def _closes(text: str) -> bool:
    """Whether a brace at the end ends a directive, and not a variable's initial value."""
    return text.endswith("}") and "=" not in text.partition("{")[0]


def _linked(inputs: list[tuple[str, str]]) -> str:
    headers: dict[str, str] = {}
    sources: list[list[_Statement]] = []
    for number, (name, text) in enumerate(inputs):
        own: list[_Statement] = []
        for each in _statements(text):
            header = _HEADER.match(each)
            if header:
                _agree(headers, header[1], header[2].strip(), name)
            elif not _LINE.match(each) and not each.lstrip().startswith(".section"):
                own.append(_Statement(each))
        sources.append(_renamed(own, number))
    everything = [one for source in sources for one in source]
    defined = _defined(everything)
    variables: dict[str, str] = {}
    declared: dict[str, None] = {}
    bodies: dict[str, str] = {}
    for one in everything:
        if one.linkage == "extern" and one.name in defined:
            if one.is_function:
                declared[_LINKAGE.sub(f".{defined[one.name]}", one.text, count=1)] = None
        elif one.linkage == "extern" and one.is_function:
            raise _error(_INVALID_SOURCE, f"{one.name} is defined nowhere")
        elif not one.is_function:
            variables.setdefault(one.name, one.text)  # of weak ones, and declared ones, the first
        elif one.is_defined:
            bodies.setdefault(one.name, one.text)
        else:
            declared[one.text] = None
    top = [f".{key} {headers[key]}" for key in ("version", "target", "address_size")]
    return "\n".join([*top, *variables.values(), *declared, *bodies.values(), ""])


def _agree(headers: dict[str, str], key: str, value: str, name: str) -> None:
    """Take the newest version and target of all sources."""
    known = headers.setdefault(key, value)
    if key == "address_size" and known != value:
        raise _error(_INVALID_SOURCE, f"{name} is for addresses of {value} bits, not {known}")
    headers[key] = max(known, value, key=lambda text: [int(n) for n in re.findall(r"\d+", text)])


def _renamed(statements: list[_Statement], number: int) -> list[_Statement]:
    """Give what is a source's own a name that no other source has."""
    shown = {each.name for each in statements if each.linkage or ".entry" in each.text[:200]}
    own = sorted({each.name for each in statements} - shown - {""})
    if not own:
        return statements
    pattern = re.compile(rf"(?<![\w$%.])(?:{'|'.join(map(re.escape, own))})(?![\w$])")
    return [_Statement(pattern.sub(rf"\g<0>$link{number}", each.text)) for each in statements]


def _defined(statements: list[_Statement]) -> dict[str, str]:
    """Return the linkage of each name that is defined.

    Raises:
        CUDADriverError: one is defined twice.
    """
    found: dict[str, str] = {}
    for each in statements:
        if each.is_defined and each.linkage not in ("", "extern"):
            if found.get(each.name) == "visible" and each.linkage == "visible":
                raise _error(_INVALID_SOURCE, f"{each.name} is defined twice")
            found[each.name] = max(found.get(each.name, ""), each.linkage)
    return found
