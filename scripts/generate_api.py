"""Make proto/operations/api.json, the list of CuPy's public names; with --check, compare.

The wheel is installed by name and version, with CUDA's libraries (3 GB), into a temporary virtual
environment and asked there: it imports on machines without a GPU. Only names, kinds, signatures,
ufunc types and constants are taken, never a docstring. Signatures come out as plain Python (no
annotations, no C types), so that ``inspect`` and ``ast`` can read them.

Which names CuPy documents, and on which page, the wheel does not say. With --docs, a folder
``docs/source/reference`` of CuPy's repository at the same version, it is read from there;
without, the pages in the present listing are kept.
"""

import argparse
import ast
import contextlib
import enum
import importlib
import inspect
import json
import math
import re
import subprocess
import sys
import tempfile
import typing
import venv
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

VERSION = "14.2.0"
# Without the toolkit ([ctk]) cupyx.scipy.signal and others do not import. NumPy and SciPy are
# pinned because CuPy re-exports some of their names.
REQUIREMENTS = (f"cupy-cuda12x[ctk]=={VERSION}", "numpy==2.4.*", "scipy==1.17.*")
LISTING = Path(__file__).resolve().parent.parent / "proto/operations/api.json"

MODULES = """
cupy cupy.linalg cupy.fft cupy.fft.config cupy.random cupy.polynomial cupy.polynomial.polynomial
cupy.polynomial.polyutils cupy.lib cupy.lib.stride_tricks cupy.testing cupy.exceptions cupy.typing
cupy.cuda cupy.cuda.runtime cupy.cuda.driver cupy.cuda.nvrtc cupy.cuda.cublas cupy.cuda.cusolver
cupy.cuda.cusparse cupy.cuda.curand cupy.cuda.cufft cupy.cuda.cub cupy.cuda.thrust cupy.cuda.nvtx
cupy.cuda.nccl cupy.cuda.profiler cupy.cuda.texture cupy.cuda.memory_hooks cupy.cuda.memory
cupy.cuda.stream cupy.cuda.device cupy.cuda.function cupy.cuda.graph cupy.cuda.compiler
cupy.cuda.pinned_memory cupy.cuda.common cupy.cuda.jitify cupy.cuda.cutensor cupy.cublas
cupyx cupyx.jit cupyx.jit.cg cupyx.jit.cub cupyx.jit.thrust cupyx.profiler cupyx.distributed
cupyx.distributed.array cupyx.signal cupyx.linalg cupyx.lapack cupyx.cusolver cupyx.cusparse
cupyx.tools cupyx.optimizing cupyx.time cupyx.scipy cupyx.scipy.fft cupyx.scipy.fftpack
cupyx.scipy.interpolate cupyx.scipy.linalg cupyx.scipy.ndimage cupyx.scipy.signal
cupyx.scipy.signal.windows cupyx.scipy.sparse cupyx.scipy.sparse.linalg cupyx.scipy.sparse.csgraph
cupyx.scipy.spatial cupyx.scipy.spatial.distance cupyx.scipy.special cupyx.scipy.stats
""".split()
# Not part of the API: what Cython and Python put on every class.
_MACHINERY = {
    "__annotations__",
    "__buffer__",
    "__dict__",
    "__firstlineno__",
    "__module__",
    "__pyx_vtable__",
    "__reduce_cython__",
    "__release_buffer__",
    "__setstate_cython__",
    "__static_attributes__",
    "__test__",
    "__weakref__",
}
_GPU_PACKAGES = ("cupy", "cupyx", "cupy_backends")
_ARRAY_PACKAGES = (*_GPU_PACKAGES, "numpy", "scipy")


# ---- Signatures


def signature(thing: Any) -> str | None:
    """The signature of `thing` as Python source, or None where nobody says.

    What inspect makes of Cython's functions depends on the version of Python, and of the special
    methods among them it knows nothing: their docstrings go first.
    """
    written_in_python = inspect.isfunction(thing.__init__ if inspect.isclass(thing) else thing)
    if not written_in_python:
        if found := documented_signature(thing):
            return found
        if getattr(thing, "__name__", "").startswith("__"):
            return None
    if isinstance(thing, enum.EnumType):
        return None
    with contextlib.suppress(TypeError, ValueError):
        return plain(inspect.signature(thing))
    return documented_signature(thing)


def documented_signature(thing: Any) -> str | None:
    """What the first line of the docstring says; Cython writes it for its functions."""
    first = (getattr(thing, "__doc__", None) or "").strip().split("\n")[0]
    match = re.match(r"(?:[\w.]+\.)?\w+\((.*)\)$", first.partition(" -> ")[0])
    if match is None:
        return None
    parameters = [_without_type(p) for p in _split(match[1].replace("\\", ""))]
    if parameters[:1] == ["cls"]:
        del parameters[0]
    if parameters[-1:] == ["*"]:
        del parameters[-1]
    text = f"({', '.join(parameters)})"
    return text if _is_python(text) else None


def plain(found: inspect.Signature) -> str:
    """`found` without annotations, its defaults written as Python source."""
    parameters = [
        p.replace(annotation=p.empty, default=p.default if p.default is p.empty else _Source(p))
        for p in found.parameters.values()
    ]
    return str(inspect.Signature(parameters))


class _Source:
    """A default value that prints as source: literals, classes and modules; all else as `...`."""

    def __init__(self, parameter: inspect.Parameter) -> None:
        self.value = parameter.default

    def __repr__(self) -> str:
        if inspect.isclass(self.value):
            module = self.value.__module__
            return ("" if module == "builtins" else module + ".") + self.value.__qualname__
        if inspect.ismodule(self.value):
            return self.value.__name__
        return _default(repr(self.value))


def _split(parameters: str) -> Iterator[str]:
    """Cut at the commas that are outside of brackets."""
    depth, start = 0, 0
    for place, letter in enumerate(parameters):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            yield parameters[start:place].strip()
            start = place + 1
    if parameters[start:].strip():
        yield parameters[start:].strip()


def _without_type(parameter: str) -> str:
    """``size_t size=0`` and ``size: int = 0`` both become ``size=0``."""
    declared, equals, default = parameter.partition("=")
    name = declared.split(":")[0].strip().split(" ")[-1]
    return name + equals + _default(default.strip()) if equals else name


def _default(text: str) -> str:
    try:
        ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text if re.fullmatch(r"[A-Za-z_][\w.]*", text) else "..."
    return text


def _is_python(text: str) -> bool:
    try:
        ast.parse(f"def f{text}: ...")
    except SyntaxError:
        return False
    return True


# ---- Names


class Collector:
    """Walks the installed CuPy. `names` maps each name to its kind and signature."""

    def __init__(self) -> None:
        self.names: dict[str, tuple[str, str | None]] = {}
        self.ufuncs: dict[str, tuple[int, int, list[str]]] = {}
        self.constants: dict[str, bool | int | float | str] = {}
        self.reexports: dict[str, str] = {}
        self._classes: dict[int, tuple[str, type]] = {}

    def collect(self, documented: set[str]) -> dict[str, Any]:
        for module in MODULES:
            self._module(module, documented)
        for name in sorted(documented - self.names.keys()):
            self._documented(name)
        for name, cls in self._classes.values():
            self._members(name, cls)
        return {
            "names": self.names,
            "ufuncs": self.ufuncs,
            "constants": self.constants,
            "reexports": self.reexports,
        }

    def _module(self, name: str, documented: set[str]) -> None:
        module = resolve(name)
        if module is None:  # such as cupy.cuda.nccl where NCCL is not installed
            return
        self.names[name] = (self._kind(module), None)
        exported = getattr(module, "__all__", ())
        for short in sorted({*exported, *(n for n in dir(module) if not n.startswith("_"))}):
            thing = resolve(f"{name}.{short}")
            full = f"{name}.{short}"
            if full in documented or not self._leaked(name, short, thing):
                self._add(full, thing)

    def _leaked(self, module: str, short: str, thing: Any) -> bool:
        """Whether `thing` is there only because the module's own code imported it."""
        home = getattr(thing, "__module__", None)
        if inspect.ismodule(thing) or short == "annotations":
            return True
        if module == "cupy.typing":
            return short not in ("ArrayLike", "DTypeLike", "NBitBase", "NDArray")
        if not isinstance(home, str):
            return False
        if not home.startswith(_ARRAY_PACKAGES):
            return True
        return (
            module.startswith("cupy.cuda.")
            and (getattr(resolve(module), "__file__", None) or "").endswith(".py")
            and (inspect.isfunction(thing) or inspect.isclass(thing))
            and not home.startswith((module, "cupy_backends"))
        )

    def _documented(self, name: str) -> None:
        thing = resolve(name)
        if thing is not None:
            self._add(name, thing)
        else:  # needs a library or device that is not here
            last = name.rpartition(".")[2]
            self.names[name] = ("class" if last[0].isupper() else "function", None)

    def _add(self, name: str, thing: Any) -> None:
        if name in self.names:
            return
        kind = self._kind(thing)
        original = self._reexported(name, thing)
        found = None
        if original is not None:
            self.reexports[name] = original
        elif kind == "ufunc":
            nin, nout = _arity(thing)
            found = documented_signature(thing) or ufunc_signature(nin, nout)
            self.ufuncs[name] = (nin, nout, list(getattr(thing, "types", ())))
        elif kind not in ("module", "constant"):
            found = signature(thing)
        self.names[name] = (kind, found)
        if kind == "constant":
            self._constant(name, thing)
        home = getattr(thing, "__module__", None)
        if kind == "class" and isinstance(home, str) and home.startswith(_GPU_PACKAGES):
            self._classes.setdefault(id(thing), (name, thing))

    def _kind(self, thing: Any) -> str:
        if inspect.ismodule(thing):
            return "module"
        if inspect.isclass(thing):
            return "exception" if issubclass(thing, BaseException) else "class"
        if type(thing).__name__ in ("ufunc", "_GUFunc"):
            return "ufunc"
        return "function" if callable(thing) and not typing.get_origin(thing) else "constant"

    def _reexported(self, name: str, thing: Any) -> str | None:
        if isinstance(thing, bool | int | str):  # small ones are identical by chance
            return None
        if name.startswith("cupyx.scipy."):
            original = name.removeprefix("cupyx.")
        elif name.startswith("cupy."):
            original = "numpy" + name.removeprefix("cupy")
        else:
            return None
        return original if resolve(original, missing=self) is thing else None

    def _constant(self, name: str, value: Any) -> None:
        if type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value)):
            self.constants[name] = value

    def _members(self, name: str, cls: type) -> None:
        common = dir(object)
        for short in dir(cls):
            special = short.startswith("__") and short.endswith("__") and short not in common
            if (short.startswith("_") and not special) or short in _MACHINERY:
                continue
            full = f"{name}.{short}"
            home = next((c.__module__ for c in cls.__mro__ if short in vars(c)), "")
            if full in self.names or home in ("builtins", "enum", "unittest.case"):
                continue
            member = getattr(cls, short, None)
            if callable(member):
                self.names[full] = ("method", signature(member))
            else:
                self.names[full] = ("property", None)
                self._constant(full, member)


def resolve(name: str, missing: Any = None) -> Any:
    """The object at a dotted name, or `missing`."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:count]))
        except Exception:
            continue
        try:
            for part in parts[count:]:
                found = getattr(found, part)
        except Exception:
            return missing
        return found
    return missing


def _arity(ufunc: Any) -> tuple[int, int]:
    with contextlib.suppress(AttributeError):
        return ufunc.nin, ufunc.nout
    return ufunc._nin, ufunc._nout  # generalized ufuncs have no public ones


def ufunc_signature(nin: int, nout: int) -> str:
    """For ufuncs whose docstring does not say it as Python."""
    inputs = "x" if nin == 1 else ", ".join(f"x{i + 1}" for i in range(nin))
    if nout == 1:
        return f"({inputs}, /, out=None, *, casting='same_kind', dtype=None)"
    outputs = ", ".join(f"out{i + 1}=None" for i in range(nout))
    tuple_out = ", ".join(["None"] * nout)
    return f"({inputs}, {outputs}, /, *, out=({tuple_out}), casting='same_kind', dtype=None)"


# ---- Documented names


def read_docs(folder: Path) -> dict[str, str]:
    """Each documented name and its page, from the reference chapters of CuPy's documentation."""
    pages: dict[str, str] = {}
    for chapter in sorted(folder.glob("*.rst")):
        if chapter.name != "comparison.rst":
            for name, own_page in _documented_in(chapter.read_text()):
                page = f"generated/{name}.html" if own_page else f"{chapter.stem}.html#{name}"
                pages.setdefault(name, f"reference/{page}")
    return pages


def _documented_in(text: str) -> Iterator[tuple[str, bool]]:
    """(name, whether it has a page of its own) for each name that a chapter documents."""
    module, in_summary, own_page = "", False, False
    for line in text.splitlines():
        if match := re.match(r"\.\. (?:currentmodule|module):: *(\S+)", line):
            module, in_summary = match[1], False
        elif match := re.match(r"\.\. auto(?!summary)\w+:: *(\S+)", line):
            in_summary = False
            if not line.startswith(".. automodule"):
                yield _qualified(match[1], module), False
        elif line.startswith(".. autosummary::"):
            in_summary, own_page = True, False
        elif in_summary and line.strip():
            in_summary = line.startswith(" ")
            own_page = own_page or line.strip().startswith(":toctree:")
            if in_summary and re.fullmatch(r"[A-Za-z_][\w.:]*", line.strip()):
                yield _qualified(line.strip(), module), own_page


def _qualified(name: str, module: str) -> str:
    name = name.replace("::", ".")
    return name if name.startswith(("cupy.", "cupyx.")) else f"{module}.{name}"


def page(name: str, kind: str, pages: dict[str, str]) -> str | None:
    if kind in ("method", "property"):
        owner = pages.get(name.rpartition(".")[0])
        return owner and f"{owner.partition('#')[0]}#{name}"
    return pages.get(name)


# ---- The listing


def old_pages() -> dict[str, str]:
    listing = json.loads(LISTING.read_text())
    return {
        name: page
        for name, (kind, _, page) in listing["names"].items()
        if page and kind not in ("method", "property")
    }


def write(collected: dict[str, Any], pages: dict[str, str]) -> str:
    """The listing as JSON, sorted, one name a line, so that differences read well."""
    names = {n: (kind, sig, page(n, kind, pages)) for n, (kind, sig) in collected["names"].items()}
    sections = [f'"cupy":{json.dumps(VERSION)}']
    for title, rows in {**collected, "names": names}.items():
        lines = [
            f"{json.dumps(name)}:{json.dumps(row, separators=(',', ':'))}"
            for name, row in sorted(rows.items())
        ]
        sections.append(f'"{title}":{{\n' + ",\n".join(lines) + "\n}")
    return "{" + ",\n".join(sections) + "}\n"


def collect_with(python: str, documented: set[str]) -> dict[str, Any]:
    """Let another interpreter, which has the wheel, collect."""
    found = subprocess.run(
        [python, "-W", "ignore", __file__, "--collect"],
        input=json.dumps(sorted(documented)),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    result: dict[str, Any] = json.loads(found.stdout)
    return result


def collect_in_venv(documented: set[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as tmp:
        print(f"installing {' '.join(REQUIREMENTS)} in {tmp}", file=sys.stderr)
        venv.create(tmp, with_pip=True)
        python = f"{tmp}/bin/python"
        subprocess.run([python, "-m", "pip", "install", "-q", *REQUIREMENTS], check=True)
        return collect_with(python, documented)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if it differs")
    parser.add_argument("--docs", type=Path, help="docs/source/reference of CuPy's repository")
    parser.add_argument("--python", help="an interpreter that has the wheel: installs nothing")
    parser.add_argument("--collect", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.collect:
        warnings.simplefilter("ignore")
        json.dump(Collector().collect(set(json.load(sys.stdin))), sys.stdout)
        return 0
    pages = read_docs(args.docs) if args.docs else old_pages()
    names = set(pages)
    found = collect_with(args.python, names) if args.python else collect_in_venv(names)
    text = write(found, pages)
    if LISTING.exists() and LISTING.read_text() == text:
        return 0
    print("stale:" if args.check else "wrote:", LISTING.name)
    if not args.check:
        LISTING.write_text(text)
    return int(args.check)


if __name__ == "__main__":
    raise SystemExit(main())
