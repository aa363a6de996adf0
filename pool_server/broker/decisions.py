"""What the broker decides: commands to servers, answers to clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from cupool.pool_server.broker.model import DeviceSpec, Lease, Placement, Terms


@dataclass(frozen=True, slots=True)
class OpenSession:
    """To the server on `link`: open this session."""

    link: int
    session_id: str
    lease: Lease
    index: int
    token: str
    client: str
    carriers: tuple[str, ...]
    connect_within_s: float
    ends_in_s: float = 0.0


@dataclass(frozen=True, slots=True)
class CloseSession:
    """To the server on `link`: end this session."""

    link: int
    session_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Notify:
    """To the server on `link`: tell the session's script that its device goes in `within_s`.

    `reason` is "preempted", "deadline" or "drain"; "withdrawn" takes an earlier notice back.
    """

    link: int
    session_id: str
    reason: str
    message: str
    within_s: float


@dataclass(frozen=True, slots=True)
class TellQueued:
    """To a waiting client: its place in line (1 = next) and what it waits for."""

    request_id: int
    position: int
    length: int
    reason: str


@dataclass(frozen=True, slots=True)
class GrantedDevice:
    session_id: str
    token: str
    urls: tuple[str, ...]
    placement: Placement
    device: DeviceSpec


@dataclass(frozen=True, slots=True)
class TellGrant:
    """To a waiting client: here are your devices; the request is over."""

    request_id: int
    lease_id: str
    devices: tuple[GrantedDevice, ...]
    joined: bool
    terms: Terms
    ends_in_s: float = 0.0


@dataclass(frozen=True, slots=True)
class TellRefusal:
    """To a waiting client: no; the request is over."""

    request_id: int
    reason: str
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class DropLink:
    """The stream of this server is dead or was replaced; close it."""

    link: int
    reason: str


Decision: TypeAlias = (
    OpenSession | CloseSession | Notify | TellQueued | TellGrant | TellRefusal | DropLink
)
