"""Why a request waits, and what a lease holds: what is missing, who has it, until when."""

from __future__ import annotations

from dataclasses import dataclass

from cupool.pool_server.broker import words
from cupool.pool_server.broker.convert import request_name
from cupool.pool_server.broker.model import (
    NEVER,
    Lease,
    Request,
    human_bytes,
    listed,
    priority_name,
)
from cupool.pool_server.broker.reserve import Reservation, reserve
from cupool.pool_server.broker.state import BrokerState

_MOST_HOLDERS = 10


@dataclass(frozen=True, slots=True)
class Why:
    """An answer for people; `expected_in_s` below 0 = nobody knows."""

    state: str
    summary: str
    details: tuple[str, ...] = ()
    expected_in_s: float = -1.0


def why(state: BrokerState, name: str, tenant: str, now: float) -> Why:
    """Explain a request ("r17"), lease or session; what the tenant may not see is unknown."""
    request = _request(state, name)
    if request is not None and tenant in ("", request.wish.tenant):
        return _waiting(state, request, tenant, now)
    session = state.ledger.sessions.get(name)
    lease = state.ledger.leases.get(session.lease_id if session is not None else name)
    if lease is not None and tenant in ("", lease.terms.tenant):
        return _granted(state, lease, now)
    fate = state.ledger.fate(name)
    if fate is not None and not tenant:
        return Why(fate.state, fate.message)
    return Why("unknown", f"there is no request, lease or session {name!r}")


def _request(state: BrokerState, name: str) -> Request | None:
    if not name.startswith("r") or not name[1:].isdecimal():
        return None
    number = int(name[1:])
    return state.line.queue.get(number) or state.line.opening.get(number)


def expected_in_s(state: BrokerState, request: Request, now: float) -> float:
    """Return in how many seconds a request has room at the latest, as far as ends are known."""
    held = _reserved(state, request, now)
    return -1.0 if held is None or held.at == NEVER else max(0.0, held.at - now)


def _reserved(state: BrokerState, request: Request, now: float) -> Reservation | None:
    """Return the request's reservation, or the one that it would get now."""
    line = state.line
    held = line.reservation
    if held is None or held.request_id != request.request_id:
        line.fit.refresh(now)
        held = reserve(request, line.fit.demand(request.wish), line.ledger, line.fit, now)
    return held


def _waiting(state: BrokerState, request: Request, tenant: str, now: float) -> Why:
    line, wish = state.line, request.wish
    if request.request_id in line.opening:
        return Why("opening", f"its sessions on lease {request.lease_id} are being opened")
    order = [each.request_id for each in line.queue.in_order(now)]
    position = order.index(request.request_id) + 1
    waited = words.duration(now - request.since)
    details = [_asked(request)]
    level = line.queue.level(request, now)
    if level > wish.priority:
        details.append(f"it has waited so long that it counts as {priority_name(level)}")
    if request.blocked:
        details.append(request.blocked)
    line.fit.refresh(now)
    details.append(line.fit.explain(wish))
    if position > 1:
        details.append(f"{position - 1} requests come before it")
    reservation = _reserved(state, request, now)
    if reservation is not None:
        if reservation is line.reservation:
            names = listed(
                f"GPU {ordinal} of {server}" for server, ordinal in sorted(reservation.devices)
            )
            details.append(f"held for it as soon as they are free: {names}")
        for key in sorted(reservation.devices)[:_MOST_HOLDERS]:
            for lease_id in state.ledger.books.on_device.get(key, {}):
                details.append(_holder(state.ledger.leases[lease_id], key, tenant, now))
    expected = expected_in_s(state, request, now)
    if expected >= 0 and position > 1:
        details.append("the time is the earliest: those before it may need the room first")
    summary = f"{position} of {len(order)} in line, waiting for {waited}"
    return Why("waiting", summary, tuple(details), expected)


def _asked(request: Request) -> str:
    wish = request.wish
    what = "whole GPUs" if wish.whole else "GPU shares"
    parts = [f"{request_name(request.request_id)} of {wish.client or 'unnamed'} "]
    parts[0] += f"(tenant {wish.tenant}, {priority_name(wish.priority)}) wants {wish.gpus} {what}"
    if wish.memory_bytes:
        parts.append(f"{human_bytes(wish.memory_bytes)} each")
    if wish.share_milli and not wish.whole:
        parts.append(f"{wish.share_milli / 1000:g} of the compute")
    if wish.models:
        parts.append(f"model {' or '.join(wish.models)}")
    if wish.zone:
        parts.append(f"zone {wish.zone}")
    if wish.bandwidth_mbps:
        parts.append(f"{wish.bandwidth_mbps} Mbit/s each")
    return ", ".join(parts)


def _holder(lease: Lease, key: tuple[str, int], tenant: str, now: float) -> str:
    server, ordinal = key
    who = lease.client or "unnamed"
    if tenant and lease.terms.tenant != tenant:
        who = "another tenant"
    text = f"GPU {ordinal} of {server} is held by {who} since {words.duration(now - lease.since)}"
    if lease.over_at == NEVER:
        return text + ", without a limit of time"
    return text + f", for {words.duration(max(0.0, lease.over_at - now))} more at most"


def _granted(state: BrokerState, lease: Lease, now: float) -> Why:
    terms = lease.terms
    details = []
    for _, place in sorted(lease.placements.items()):
        size = "all" if place.whole else human_bytes(place.memory_bytes)
        text = f"GPU {place.ordinal} of {place.server}: {size} of the memory"
        if not place.whole:
            promised = f"{place.milli / 1000:g}" if place.milli else "what others leave"
            text += f", {promised} of the compute"
        details.append(text)
    details.append(f"tenant {terms.tenant}, priority {priority_name(terms.priority)}")
    if lease.notice:
        left = words.duration(max(0.0, lease.notice_ends_at - now))
        details.append(f"it is being taken back ({lease.notice}), in {left}")
    elif lease.ends_at != NEVER:
        details.append(f"it ends in {words.duration(max(0.0, lease.ends_at - now))} (--max-time)")
    age = words.duration(now - lease.since)
    summary = f"lease {lease.lease_id} of {lease.client or 'unnamed'}, for {age}, "
    summary += f"{len(lease.sessions)} sessions"
    return Why("granted", summary, tuple(details))
