"""Answer `import cupy`, `cupyx` and `cupy_backends` with ours.

Every Python process under `cupool run` imports this module, pip and setup scripts included, so
it imports nothing that is not loaded at start-up anyway. The modules that it hands out are those
of `cupool.client_shim`, each one object under both of its names.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from importlib.metadata import Distribution, DistributionFinder
    from types import ModuleType
    from typing import Any

NAMES = ("cupy", "cupyx", "cupy_backends")
HOME = "cupool.client_shim."
MIMICKED_VERSION = "14.2.0"
_UNSUPPORTED = "not supported yet"
_FUNCTION = type(lambda: None)


class RemoteCupy:
    """A finder and loader in one: finds our packages under CuPy's names."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a spec for a module that we have, None for any other."""
        root, _, rest = name.partition(".")
        if root not in NAMES:
            return None
        real = _real_spec(name, root, rest)
        if real is None:
            return _spec_without_file(name, self)
        spec = ModuleSpec(
            name,
            self,  # type: ignore[arg-type]
            origin=real.origin,
            is_package=real.submodule_search_locations is not None,
        )
        if real.submodule_search_locations is not None:
            spec.submodule_search_locations = list(real.submodule_search_locations)
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Import ours; it becomes the module of that name, the same object."""
        if spec.name == "cupy":
            _start_pool_early()
        from importlib import import_module

        if spec.loader_state == _UNSUPPORTED:
            raise ModuleNotFoundError(f"{spec.name} is not supported by cupool yet", name=spec.name)
        module = import_module(HOME + spec.name)
        module.__name__ = spec.name
        module.__package__ = spec.name if hasattr(module, "__path__") else spec.parent
        module.__loader__ = self  # type: ignore[assignment]
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to run; put submodules that came along under their public names."""
        public = module.__name__
        prefix = f"{HOME}{public}."
        for name in [name for name in sys.modules if name.startswith(prefix)]:
            submodule = sys.modules.setdefault(name.removeprefix(HOME), sys.modules[name])
            submodule.__name__ = name.removeprefix(HOME)
            _rename(submodule)
        _rename(module)

    def get_source(self, name: str) -> str | None:
        """Return the source of a module, for tracebacks and `inspect`."""
        real = _real_spec(name, *name.partition(".")[::2])
        source = getattr(real.loader, "get_source", None) if real is not None else None
        return source(real.name) if source is not None and real is not None else None

    def find_distributions(self, context: DistributionFinder.Context) -> Iterator[Distribution]:
        """Answer `importlib.metadata.version("cupy")` with the version that we mimic."""
        if context.name is None or context.name.lower() == "cupy":
            from cupool.client_shim.metadata import CupyDistribution

            yield CupyDistribution()


def _rename(module: ModuleType) -> None:
    """Let functions and classes say that they are CuPy's: programs look at `__module__`, dask for
    one imports the package that an array's type belongs to."""
    home = HOME + module.__name__
    for value in list(vars(module).values()):
        if isinstance(value, (type, _FUNCTION)) and value.__module__ == home:
            value.__module__ = module.__name__


def _real_spec(name: str, root: str, rest: str) -> ModuleSpec | None:
    """Find the file behind a public name, without importing more than its parents."""
    parent = HOME + name.rpartition(".")[0] if rest else HOME.rstrip(".")
    package = sys.modules.get(parent)
    if package is None:
        from importlib import import_module

        try:
            package = import_module(parent)
        except ModuleNotFoundError:
            return None
    return PathFinder.find_spec(HOME + name, package.__path__)


def _spec_without_file(name: str, loader: Any) -> ModuleSpec | None:
    """Find a module that we made without a file, or one of CuPy's that we do not have yet."""
    made = sys.modules.get(HOME + name)
    if made is not None:
        return ModuleSpec(name, loader, is_package=hasattr(made, "__path__"))
    from cupool.proto.operations.api import listing

    if listing().members(name):
        return ModuleSpec(name, loader, loader_state=_UNSUPPORTED)
    return None


def _start_pool_early() -> None:
    """Begin to start the embedded pool while NumPy and the rest are still being imported."""
    from cupool.client_shim import lease
    from cupool.config import load

    lease.start_embedded_pool(load().settings)


def install() -> None:
    """Make `import cupy` mean ours, in this process."""
    if not any(isinstance(finder, RemoteCupy) for finder in sys.meta_path):
        sys.meta_path.insert(0, RemoteCupy())
