"""Which of several brokers is asked, and for how long."""

from __future__ import annotations

import pytest

from cupool.brokers import Brokers, NotServed, ask_leader, split_brokers
from cupool.errors import ConfigurationError, PoolUnreachable

A, B, C = "grpc://a:1", "grpc://b:2", "grpc://c:3"
ALL = ",".join((A, B, C))


def not_served(url: str, *, answered: bool, leader: str = "") -> NotServed:
    return NotServed(PoolUnreachable(f"not {url}"), answered=answered, leader=leader)


@pytest.mark.parametrize(
    ("url", "found"),
    [
        (A, [A]),
        ("grpc://a", ["grpc://a"]),
        ("grpc://a:1,b:2, c:3", [A, B, C]),
        ("grpc://a:1/,grpc://b:2/", [A, B]),
        ("grpc://[::1]:5,[::2]:5", ["grpc://[::1]:5", "grpc://[::2]:5"]),
        ("grpcs://a:1,b:2", ["grpcs://a:1", "grpcs://b:2"]),
        ("unix-abstract:a,b", ["unix-abstract:a,b"]),
    ],
)
def test_lists_of_brokers(url: str, found: list[str]) -> None:
    assert split_brokers(url) == found


@pytest.mark.parametrize(
    "url", ["", "a:1", "grpc://a:1,", "grpc://a:1,http://b", "grpcs://a:1,grpc://b:2", f"{A},{A}"]
)
def test_what_is_no_list_of_brokers(url: str) -> None:
    with pytest.raises(ConfigurationError):
        split_brokers(url)


def test_the_leader_is_followed_only_to_addresses_that_the_user_named() -> None:
    brokers = Brokers(ALL)
    brokers.go_on(C)
    assert brokers.current == C
    brokers.go_on("grpc://evil:1")
    assert brokers.current == A
    brokers.go_on(A)  # it names itself, and yet did not serve
    assert brokers.current == B


def test_the_leader_is_asked_next() -> None:
    asked: list[str] = []

    def ask(url: str) -> str:
        asked.append(url)
        if url != C:
            raise not_served(url, answered=True, leader=C)
        return "served"

    assert ask_leader(ALL, ask, 60.0) == "served"
    assert asked == [A, C]


def test_brokers_that_are_away_are_passed_over() -> None:
    asked: list[str] = []

    def ask(url: str) -> str:
        asked.append(url)
        if len(asked) < 6:
            raise not_served(url, answered=url == B)
        return url

    assert ask_leader(ALL, ask, 60.0) == C
    assert asked == [A, B, C, A, B, C]


def test_if_none_is_there_the_error_comes_after_one_round() -> None:
    asked: list[str] = []

    def ask(url: str) -> str:
        asked.append(url)
        raise not_served(url, answered=False)

    with pytest.raises(PoolUnreachable, match="none of the brokers grpc://a:1, grpc://b:2"):
        ask_leader(ALL, ask, 60.0)
    assert asked == [A, B, C]
    with pytest.raises(PoolUnreachable, match="not grpc://a:1"):
        ask_leader(A, ask, 60.0)


def test_without_a_leader_it_ends_after_the_time() -> None:
    asked: list[str] = []

    def ask(url: str) -> str:
        asked.append(url)
        raise not_served(url, answered=True)

    with pytest.raises(PoolUnreachable, match="not grpc"):
        ask_leader(ALL, ask, 0.2)
    assert len(asked) > 1


def test_other_errors_are_not_retried() -> None:
    def ask(url: str) -> str:
        raise ConfigurationError("no")

    with pytest.raises(ConfigurationError):
        ask_leader(ALL, ask, 60.0)
