"""The broker's sentences: refusals with numbers and a remedy, and what became of a session."""

from __future__ import annotations

from cupool.pool_server.broker.ledger import Ledger
from cupool.pool_server.broker.model import Request, Server, ServerState, human_bytes, listed

WRONG_TOKEN = "the job's token is wrong: this lease belongs to another job"
UNKNOWN_SESSION = "the broker knows no such session; it may have been restarted since"
SEE_LOG = "the server's log says more:   journalctl -u cupool-server"


def duration(seconds: float) -> str:
    """Write a time for people: "12 s", "5 min", "2 h", "3 days"."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    if seconds < 36 * 3600:
        return f"{seconds / 3600:.0f} h"
    return f"{seconds / 86400:.0f} days"


def stream_broke(server: Server, now: float) -> str:
    age = now - server.broken_at
    return (
        f"server {server.name} is gone: its connection to the broker broke {age:.1f} s ago "
        "(the server process died, or its machine or network failed)"
    )


def silent(server: Server, now: float) -> str:
    age = now - server.heard_at
    return (
        f"server {server.name} is gone: the broker has heard nothing from it for {age:.1f} s "
        "(it hangs, or its machine or network failed)"
    )


def restarted(server: Server) -> str:
    return f"server {server.name} is gone: its process died and was started anew"


def ended_while_away(server: Server) -> str:
    return f"the session ended while server {server.name} had no connection to the broker"


def name_taken(server: Server) -> str:
    where = f" from {server.address}" if server.address else ""
    return f"the pool already has a server named {server.name!r}{where}"


def running(server: Server, now: float) -> str:
    return f"server {server.name} runs the session (it said so {now - server.heard_at:.1f} s ago)"


def _counts(ledger: Ledger) -> tuple[int, int]:
    """Count devices that are leased, and devices in all."""
    up = [s for s in ledger.servers.values() if s.state in (ServerState.UP, ServerState.DRAINING)]
    held = {
        (placement.server, placement.ordinal)
        for lease in ledger.leases.values()
        for placement in lease.placements.values()
    }
    return len(held), sum(len(server.devices) for server in up)


def busy(ledger: Ledger) -> str:
    """Say who holds what, without ages: it is repeated to those in line when it changes."""
    held, total = _counts(ledger)
    if not total:
        return "no server is in the pool at the moment"
    who = listed(sorted({lease.client or "unnamed" for lease in ledger.leases.values()}))
    return f"{held} of {total} GPUs leased" + (f": {who}" if who else "")


def _holders(ledger: Ledger, now: float) -> str:
    held, total = _counts(ledger)
    leases = sorted(ledger.leases.values(), key=lambda lease: lease.since)
    who = listed(f"{lease.client or 'unnamed'} {duration(now - lease.since)}" for lease in leases)
    return f"{held} of {total} leased" + (f": {who}" if who else "")


def refusal(
    ledger: Ledger, request: Request, now: float, *, could_fit: bool
) -> tuple[str, str, str]:
    """Return reason, message and remedy for a request that gets nothing."""
    if not could_fit:
        return _too_large(ledger, request)
    lease = ledger.lease_of_job(request.wish.job_id)
    if lease is not None:
        missing = lease.size - len(lease.placements)
        text = f"the job's lease has lost {missing} of its {lease.size} devices"
        if not missing:
            text = "a server of the job's lease takes no new sessions"
        return "no_devices", text, "start the job anew"
    holders = _holders(ledger, now)
    if request.wish.wait_s > 0:
        text = f"no GPU became free within {duration(request.wish.wait_s)} ({holders})"
        longer = "wait longer:   cupool run --wait 1h ..."
        return "timeout", text, f"{longer}\nor see who:    cupool status"
    want = f"{request.wish.gpus} GPUs are not" if request.wish.gpus > 1 else "no GPU is"
    text = f"{want} free in the pool ({holders})"
    return (
        "no_devices",
        text,
        "wait for one:   cupool run --wait 30m ...\nor see who:     cupool status",
    )


def _too_large(ledger: Ledger, request: Request) -> tuple[str, str, str]:
    wish = request.wish
    devices = [
        (device, server) for server in ledger.servers.values() for device in server.devices.values()
    ]
    if not devices:
        remedy = "start one on a machine with a GPU:   cupool serve --broker URL"
        return "no_devices", "no server with a device has joined the pool", remedy
    reachable = ledger.rooms(wish, ever=True)
    if len(reachable) < wish.gpus <= len(devices):
        text = f"{wish.gpus} GPUs cannot be reached by {', '.join(wish.carriers)}: "
        text += "local sockets work only on the server's own machine"
        return "too_large", text, "let cupool choose:   cupool run --carrier auto ..."
    if len(devices) < wish.gpus:
        text = f"{wish.gpus} GPUs were asked for, the pool has {len(devices)}"
        return "too_large", text, f"ask for less:   cupool run --gpus {len(devices)} ..."
    largest, server = max(devices, key=lambda pair: pair[0].memory_bytes)
    able = sum(1 for device, _ in devices if device.memory_bytes >= wish.memory_bytes)
    text = (
        f"{human_bytes(wish.memory_bytes)} on each of {wish.gpus} GPUs were asked for; "
        if wish.gpus > 1
        else f"{human_bytes(wish.memory_bytes)} of GPU memory were asked for; "
    )
    if able:
        text += f"only {able} GPUs of the pool have that much"
    else:
        text += f"the largest GPU of the pool has {human_bytes(largest.memory_bytes)}"
        text += f" ({largest.name}, GPU {largest.ordinal} of {server.name})"
    return "too_large", text, "see what there is:   cupool status"
