"""The broker's sentences: refusals with numbers and a remedy, and what became of a session."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from cupool.pool_server.broker.fit import Fit
from cupool.pool_server.broker.ledger import Ledger
from cupool.pool_server.broker.model import (
    Lease,
    Request,
    Server,
    Wish,
    listed,
    priority_name,
)
from cupool.pool_server.broker.placement import Missing
from cupool.pool_server.broker.tenants import Tenants

WRONG_TOKEN = "the job's token is wrong: this lease belongs to another job"
UNKNOWN_SESSION = "the broker knows no such session; it may have been restarted since"
TENANT_TOKEN = "ask an administrator for it:   export CUPOOL_TENANT_TOKEN=..."
SEE_LOG = "the server's log says more:   journalctl -u cupool-server"
SEE_STATUS = "see what there is:   cupool status"
_NAMED_LEASES = 40


def duration(seconds: float) -> str:
    """Write a time for people: "12 s", "5 min", "2 h", "3 days"; none is below 0."""
    seconds = max(0.0, seconds)
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    if seconds < 36 * 3600:
        return f"{seconds / 3600:.0f} h"
    return f"{seconds / 86400:.0f} days"


# ---------------------------------------------------------------- servers and sessions


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


def server_note(ledger: Ledger, server: Server, now: float) -> str:
    """Say why a server gets no new leases, "" if it does."""
    cordon = ledger.books.cordons.get(server.name)
    if cordon is not None:
        what = "draining" if cordon.draining else "cordoned"
        return f"{what} by an administrator" + (f": {cordon.reason}" if cordon.reason else "")
    if server.held_until > now:
        wait = duration(server.held_until - now)
        return f"its connection broke {len(server.breaks)} times; nothing new for {wait}"
    return ""


# ---------------------------------------------------------------- the end of a lease


def preempted(lease: Lease, wish: Wish, tenants: Tenants) -> str:
    """Say to a script why its devices are taken away."""
    who = wish.client or "another job"
    if lease.terms.priority < wish.priority:
        ranks = f"{priority_name(wish.priority)} over {priority_name(lease.terms.priority)}"
        return f"a more urgent job needs this GPU ({who}, {ranks})"
    return (
        f"tenant {wish.tenant} takes back what tenant {lease.terms.tenant} borrowed beyond "
        f"its quota ({who})"
    )


TIME_ENDS = "the time that was asked for (--max-time) is nearly over"


def taken_back(lease: Lease) -> str:
    """Say why a lease was ended before its time, after notice."""
    if lease.notice == "drain":
        return "its server was drained by an administrator, after notice"
    return "a more urgent job, or one that was owed the GPU, needed it; notice was given"


def time_is_up(lease: Lease, now: float) -> str:
    return f"the time that was asked for is over ({duration(now - lease.since)}, --max-time)"


# ---------------------------------------------------------------- waiting


def busy(ledger: Ledger, fit: Fit, partition: str) -> str:
    """Say who holds what of a partition, without ages: it is told anew when it changes."""
    held, total = fit.counts(partition)
    if not total:
        return "no server is in the pool at the moment"
    who = listed(sorted({lease.client or "unnamed" for lease in _leases(ledger, partition)}))
    return f"{held} of {total} GPUs leased" + (f": {who}" if who else "")


def holders(ledger: Ledger, fit: Fit, partition: str, now: float) -> str:
    """Say who holds what of a partition, and for how long."""
    held, total = fit.counts(partition)
    who = listed(
        f"{lease.client or 'unnamed'} {duration(now - lease.since)}"
        for lease in _leases(ledger, partition)
    )
    return f"{held} of {total} leased" + (f": {who}" if who else "")


def _leases(ledger: Ledger, partition: str) -> Iterator[Lease]:
    """Return some leases of a partition; those of others are not to be spoken of."""
    leases = ledger.leases.values()
    return islice((each for each in leases if each.terms.partition == partition), _NAMED_LEASES)


def refusal(
    ledger: Ledger, fit: Fit, request: Request, now: float, missing: Missing | None
) -> tuple[str, str, str]:
    """Return reason, message and remedy for a request that gets nothing."""
    if missing is not None:
        return impossible(ledger, request.wish, missing)
    lease = ledger.lease_of_job(request.wish.job_id)
    if lease is not None:
        lost = lease.size - len(lease.placements)
        text = f"the job's lease has lost {lost} of its {lease.size} devices"
        if not lost:
            text = "a server of the job's lease takes no new sessions"
        return "no_devices", text, "start the job anew"
    partition = fit.partition_of(request.wish)
    why = request.blocked or holders(ledger, fit, partition, now)
    reason = "quota" if request.blocked.startswith("the quota") else ""
    if request.wish.wait_s > 0:
        text = f"no GPU became free within {duration(request.wish.wait_s)} ({why})"
        longer = "wait longer:   cupool run --wait 1h ..."
        return reason or "timeout", text, f"{longer}\nor see who:    cupool status"
    want = f"{request.wish.gpus} GPUs are not" if request.wish.gpus > 1 else "no GPU is"
    return (
        reason or "no_devices",
        f"{want} free in the pool ({why})",
        "wait for one:   cupool run --wait 30m ...\nor see who:     cupool status",
    )


def impossible(ledger: Ledger, wish: Wish, missing: Missing) -> tuple[str, str, str]:
    """Return reason, message and remedy for what no server, were it empty, could serve."""
    if not any(server.devices for server in ledger.servers.values()):
        remedy = "start one on a machine with a GPU:   cupool serve --broker URL"
        return "no_devices", "no server with a device has joined the pool", remedy
    asked = "1 GPU was asked for" if wish.gpus == 1 else f"{wish.gpus} GPUs were asked for"
    match missing.condition:
        case "count":
            most = missing.nearest.split()[0]
            remedy = f"ask for less:   cupool run --gpus {most} ..."
            return "too_large", f"{asked}, the pool has {most}", remedy
        case "reach":
            text = f"{wish.gpus} GPUs cannot be reached by {', '.join(wish.carriers)}: "
            text += "local sockets work only on the server's own machine"
            return "too_large", text, "let cupool choose:   cupool run --carrier auto ..."
        case "taint":
            text = f"{asked}; {_have(missing)} without a taint that it does not tolerate"
            text += f"; the others' taints: {missing.nearest}"
            return "too_large", text, f"put up with it:   cupool run --tolerate {missing.nearest}"
        case _:
            return "too_large", _lacking(ledger, wish, missing, asked), SEE_STATUS


def _lacking(ledger: Ledger, wish: Wish, missing: Missing, asked: str) -> str:
    """Say which condition rules out all GPUs, or all but too few, and what comes nearest."""
    wanted = missing.wanted
    match missing.condition:
        case "partition":
            where = f"partition {missing.wanted}" if missing.wanted else "the common pool"
            return f"{asked} by tenant {wish.tenant}; {where} has {missing.devices or 'none'}"
        case "memory":
            of = " of GPU memory" if wish.gpus == 1 else f" on each of {wish.gpus} GPUs"
            text = f"{wanted}{of} were asked for; "
            if missing.devices:
                return text + f"only {missing.devices} GPUs of the pool have that much"
            text += f"the largest GPU that could be taken has {missing.nearest}"
            return text + _where(ledger, missing)
        case "bandwidth":
            text = f"{wanted} for each of {wish.gpus} GPUs were asked for; "
            return text + f"the fastest server has {missing.nearest}"
        case "nearness":
            return f"{wanted} were asked for; the most there are is {missing.nearest}"
        case "health":
            return f"no healthy GPU is left for this request: {missing.devices} would do"
        case "compute capability":
            wanted = f"compute capability {wanted} or more"
        case "model":
            wanted = f"model {wanted}"
    text = f"{asked} with {wanted}, {_have(missing)}"
    return text + (f"; there is: {missing.nearest}" if missing.nearest else "")


def _have(missing: Missing) -> str:
    return f"the pool has {missing.devices or 'none'}"


def _where(ledger: Ledger, missing: Missing) -> str:
    server = ledger.servers.get(missing.server)
    if server is None or missing.ordinal not in server.devices:
        return ""
    name = server.devices[missing.ordinal].name
    return f" ({name}, GPU {missing.ordinal} of {server.name})"


# ---------------------------------------------------------------- the store, and who leads


def store(why: str) -> str:
    return f"no grants for the moment: the broker cannot write down what it decides ({why})"


def follows(address: str) -> str:
    return f"another broker leads this pool: {address}"


def no_leader(why: str) -> str:
    return f"no broker leads this pool at the moment, running sessions go on: {why}"
