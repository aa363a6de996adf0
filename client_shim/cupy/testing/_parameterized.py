"""`parameterize` and the products that feed it."""

from __future__ import annotations

import inspect
import itertools
import sys
import types
import unittest
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cupool.client_shim.cupy.testing import _pytest_impl

_LONGEST_VALUE = 100
_LONGEST_NAME = 5000


def parameterize(*params: Any, **kwargs: Any) -> Callable[[type], Any]:
    """Run a test class once for each dict of attributes.

    A `unittest.TestCase` becomes one class for each dict, in its module; any other class stays
    one, parametrized by pytest.

    Args:
        params: the dicts.
        kwargs: `_ids=False` names pytest's runs by number alone.
    """

    def decorate(cls: type) -> Any:
        if not issubclass(cls, unittest.TestCase):
            return _pytest_impl.parameterize(cls, params, _identify(**kwargs))
        if kwargs:
            raise TypeError(f"a TestCase takes no {sorted(kwargs)}")
        module = sys.modules[cls.__module__]
        for number, attributes in enumerate(params):
            made = _make_case(cls, number, attributes)
            setattr(module, made.__name__, made)
        return None  # the class itself has no attributes, so it must not run

    return decorate


def product(parameter: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """Return every combination of the values, as dicts.

    Args:
        parameter: names, each with its values.
    """
    if not isinstance(parameter, dict):
        raise AssertionError(f"product takes a dict, not {type(parameter)}")
    names = sorted(parameter)
    columns = [parameter[name] for name in names]
    return [dict(zip(names, row, strict=True)) for row in itertools.product(*columns)]


def product_dict(*parameters: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return every union of one dict from each list; later lists win."""
    unions: list[dict[str, Any]] = []
    for row in itertools.product(*parameters):
        union: dict[str, Any] = {}
        for one in row:
            union.update(one)
        unions.append(union)
    return unions


def _identify(*, _ids: bool = True) -> Callable[[int, Mapping[str, Any]], str]:
    if not _ids:
        return lambda number, attributes: str(number)
    return lambda number, attributes: _case_name("", number, attributes)


def _case_name(base: str, number: int, attributes: Mapping[str, Any]) -> str:
    shown = (f"{k}={_cut(_show(v), _LONGEST_VALUE)}" for k, v in sorted(attributes.items()))
    return f"{base}_param_{number}_{{{_cut(', '.join(shown), _LONGEST_NAME)}}}"


def _show(value: Any) -> str:
    name = getattr(value, "__name__", None)
    return name if isinstance(name, str) else repr(value)


def _cut(text: str, longest: int) -> str:
    """Leave out the middle of what is too long."""
    if len(text) <= longest:
        return text
    head = (longest - 3) // 2
    return f"{text[:head]}...{text[head + 3 - longest :]}"


def _make_case(base: type, number: int, attributes: Mapping[str, Any]) -> type:
    show: Any = base.__repr__

    def __repr__(self: Any) -> str:
        return f"<{show(self)}  parameter: {attributes}>"

    members: dict[str, Any] = {"__repr__": __repr__, "__module__": base.__module__}
    for name, value in attributes.items():
        # A plain function would become a method and be given the instance.
        plain = isinstance(value, types.FunctionType)
        members[name] = staticmethod(value) if plain else value
    for name, method in inspect.getmembers(base, inspect.isfunction):
        if name.startswith("test_"):
            members[name] = method
    return type(_case_name(base.__name__, number, attributes), (base,), members)
