"""Exceptions that cross the wire: what they say arrives whole, and nothing else can be made."""

from __future__ import annotations

import numpy as np
import pytest

from cupool import errors
from cupool.proto.failures import from_failure, to_failure
from cupool.proto.messages import Failure


def crossed(exc: BaseException) -> BaseException:
    return from_failure(to_failure(exc, "add", "mock GPU 0 of server lab-a"))


@pytest.mark.parametrize(
    "exc",
    [
        ValueError("operands", 3),
        KeyError("missing"),
        np.linalg.LinAlgError("singular"),
        errors.SessionClosed("over"),
        errors.OperationNotSupported("no llvmlite", remedy="pip install it\nor not", reference="x"),
        errors.PredictionMismatch("float32 was promised"),
    ],
)
def test_class_message_and_remedy_arrive(exc: BaseException) -> None:
    arrived = crossed(exc)
    assert type(arrived) is type(exc)
    assert str(arrived) == str(exc)
    assert arrived.args == exc.args
    assert arrived.__notes__ == ["cupool: raised by operation 'add' on mock GPU 0 of server lab-a"]


def test_a_class_that_is_not_listed_crosses_as_its_nearest_base_or_as_a_remote_error() -> None:
    class Own(ValueError):
        pass

    assert type(crossed(Own("text"))) is ValueError
    arrived = crossed(OSError(5, "disk"))
    assert type(arrived) is errors.RemoteError
    assert "OSError: [Errno 5] disk" in str(arrived)


@pytest.mark.parametrize("arguments", [[], [1, 2, 3], [None, None, None], ["a", "b", "c", "d"]])
def test_arguments_that_fit_no_class_make_no_other_error(arguments: list[object]) -> None:
    failure = Failure("OperationNotSupported", "text", arguments, "add", "a device", "")
    arrived = from_failure(failure)
    assert isinstance(arrived, errors.PoolError)
    assert str(arrived)


def test_no_name_outside_the_list_makes_an_object() -> None:
    arrived = from_failure(Failure("SystemExit", "text", ["text"], "add", "a device", ""))
    assert type(arrived) is errors.RemoteError
