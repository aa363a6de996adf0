"""Whatever happens in whatever order: no double grant, no oversubscription, no queue jumping."""

from __future__ import annotations

import itertools

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cupool.pool_server.broker.books import replay
from cupool.pool_server.broker.changes import Change, decode, encode
from cupool.pool_server.broker.decisions import (
    CloseSession,
    Decision,
    DropLink,
    OpenSession,
    TellGrant,
    TellRefusal,
)
from cupool.pool_server.broker.model import (
    DeviceSpec,
    Limits,
    Partition,
    Quota,
    Registration,
    Report,
    Wish,
)
from cupool.pool_server.broker.state import BrokerState, Rejected

NAMES = ("a", "b", "c")
TENANTS = ("t", "u", "default")
MEMORY = {"a": (4, 4), "b": (8,), "c": (2, 4, 8)}


class FakeServer:
    """A server as the broker should see it: it does what it is told, late or never."""

    def __init__(self) -> None:
        self.link = 0
        self.instance = 1
        self.orders: list[OpenSession] = []
        self.running: dict[str, OpenSession] = {}

    def reports(self) -> tuple[Report, ...]:
        return tuple(
            Report(
                order.session_id,
                order.lease.lease_id,
                order.lease.placements[order.index],
                order.index,
                order.lease.size,
                order.lease.job_id,
                order.lease.job_token_hash,
            )
            for order in self.running.values()
            if order.index in order.lease.placements
        )


class BrokerMachine(RuleBasedStateMachine):
    """Clients, servers and time, in any order that hypothesis thinks of."""

    def __init__(self) -> None:
        super().__init__()
        ids = itertools.count(1)
        self.now = 0.0
        self.state = BrokerState(0.0, Limits(), fresh=lambda size: f"id{next(ids)}")
        self.numbers = itertools.count(1)
        self.servers = {name: FakeServer() for name in NAMES}
        self.open_requests: dict[int, Wish] = {}
        self.answered: set[int] = set()
        self.changes: list[Change] = []

    def play(self, decisions: list[Decision]) -> None:
        for decision in decisions:
            match decision:
                case OpenSession():
                    for server in self.servers.values():
                        if server.link == decision.link:
                            server.orders.append(decision)
                case CloseSession():
                    for name, server in self.servers.items():
                        if server.link == decision.link:
                            self.end(name, decision.session_id)
                case TellGrant() | TellRefusal():
                    assert decision.request_id not in self.answered, "answered twice"
                    self.answered.add(decision.request_id)
                    self.open_requests.pop(decision.request_id, None)
                case DropLink():
                    for server in self.servers.values():
                        if server.link == decision.link:
                            server.link = 0

    def end(self, name: str, session_id: str) -> None:
        server = self.servers[name]
        server.running.pop(session_id, None)
        server.orders = [order for order in server.orders if order.session_id != session_id]
        if server.link:
            self.play(self.state.session_ended(server.link, session_id, "closed", "", self.now))

    @rule(
        gpus=st.integers(1, 3),
        memory=st.sampled_from([0, 1, 2, 5]),
        share=st.sampled_from([0, 0, 300, 700]),
        wait=st.sampled_from([0.0, 3.0, 100.0]),
        job=st.sampled_from(["", "", "j1", "j2"]),
        tenant=st.sampled_from(TENANTS),
        priority=st.sampled_from([0, 1, 1, 3]),
        time_s=st.sampled_from([0.0, 0.0, 5.0]),
        spread=st.sampled_from(["", "same-server", "spread"]),
    )
    def ask(
        self,
        gpus: int,
        memory: int,
        share: int,
        wait: float,
        job: str,
        tenant: str,
        priority: int,
        time_s: float,
        spread: str,
    ) -> None:
        number = next(self.numbers)
        wish = Wish(
            gpus,
            memory,
            wait,
            f"c{number}",
            job_id=job,
            share_milli=share,
            tenant=tenant,
            priority=priority,
            max_time_s=time_s,
            spread=spread,
        )
        self.open_requests[number] = wish
        self.play(self.state.request(number, wish, self.now))

    @precondition(lambda self: self.open_requests)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.open_requests)))
        del self.open_requests[number]
        self.play(self.state.leave(number, self.now))

    @rule(name=st.sampled_from(NAMES), restarted=st.booleans())
    def connect(self, name: str, restarted: bool) -> None:
        server = self.servers[name]
        old = server.link
        if restarted:
            server.instance += 1
            server.running.clear()
        server.orders.clear()
        link = next(self.numbers)
        devices = tuple(
            DeviceSpec(ordinal, "mock", "mock", size) for ordinal, size in enumerate(MEMORY[name])
        )
        hello = Registration(name, str(server.instance), devices, server.reports())
        server.link = link
        try:
            self.play(self.state.register(link, hello, self.now))
        except Rejected:
            assert restarted and old
            server.link = 0
            self.play(self.state.link_broken(old, self.now))

    @rule(name=st.sampled_from(NAMES))
    def open_next(self, name: str) -> None:
        server = self.servers[name]
        if server.orders and server.link:
            order = server.orders.pop(0)
            server.running[order.session_id] = order
            self.play(self.state.session_opened(server.link, order.session_id, ("u",), 1, self.now))

    @rule(name=st.sampled_from(NAMES))
    def fail_next(self, name: str) -> None:
        server = self.servers[name]
        if server.orders and server.link:
            order = server.orders.pop(0)
            self.play(self.state.session_failed(server.link, order.session_id, "no", self.now))

    @rule(name=st.sampled_from(NAMES), data=st.data())
    def end_one(self, name: str, data: st.DataObject) -> None:
        running = self.servers[name].running
        if running:
            self.end(name, data.draw(st.sampled_from(sorted(running))))

    @rule(name=st.sampled_from(NAMES))
    def break_link(self, name: str) -> None:
        server = self.servers[name]
        link, server.link = server.link, 0
        server.orders.clear()
        self.play(self.state.link_broken(link, self.now))

    @rule(name=st.sampled_from(NAMES))
    def drain(self, name: str) -> None:
        self.play(self.state.draining(self.servers[name].link, self.now))

    @rule(seconds=st.sampled_from([0.5, 2.0, 6.0, 70.0]), alive=st.sets(st.sampled_from(NAMES)))
    def pass_time(self, seconds: float, alive: set[str]) -> None:
        self.now += seconds
        for name in sorted(alive):
            self.play(self.state.heartbeat(self.servers[name].link, (), 0, self.now))
        self.play(self.state.tick(self.now))

    @rule(
        tenant=st.sampled_from(TENANTS),
        milli=st.sampled_from([0, 500, 1000, 3000]),
        borrow=st.sampled_from([-1, 0, 1000]),
    )
    def set_quota(self, tenant: str, milli: int, borrow: int) -> None:
        held = self.state.tenants.used(tenant).milli
        if borrow >= 0 and held > milli + borrow:
            return  # what a tenant holds already is not taken away: nothing to check
        done = self.state.set_quota(Quota(tenant, milli, borrow_milli=borrow), self.now)
        self.play(done.decisions)

    @rule(name=st.sampled_from(NAMES), off=st.booleans(), within=st.sampled_from([0.0, 4.0]))
    def drain_or_uncordon(self, name: str, off: bool, within: float) -> None:
        if off:
            self.play(self.state.uncordon(name, self.now).decisions)
        elif name in self.state.ledger.servers:
            self.play(self.state.drain(name, within, "", self.now).decisions)

    @rule(
        tenants=st.sets(st.sampled_from(("t", "u"))), name=st.sampled_from(NAMES), off=st.booleans()
    )
    def set_partition(self, tenants: set[str], name: str, off: bool) -> None:
        if off:
            self.play(self.state.remove_partition("p", self.now).decisions)
        else:
            partition = Partition("p", tuple(sorted(tenants)), (name,))
            self.play(self.state.set_partition(partition, self.now).decisions)

    @rule(name=st.sampled_from(NAMES), ordinal=st.integers(0, 2), sick=st.booleans())
    def change_health(self, name: str, ordinal: int, sick: bool) -> None:
        link = self.servers[name].link
        self.play(self.state.health(link, ordinal, "hot" if sick else "", self.now))

    @rule()
    def release_a_lease(self) -> None:
        for lease_id in sorted(self.state.ledger.leases)[:1]:
            self.play(self.state.release("", lease_id))

    @invariant()
    def memory_is_never_oversubscribed(self) -> None:
        held: dict[tuple[str, int], list[tuple[int, bool]]] = {}
        for lease in self.state.ledger.leases.values():
            devices = [(p.server, p.ordinal) for p in lease.placements.values()]
            assert len(set(devices)) == len(devices), "a gang has a device twice"
            for place in lease.placements.values():
                key = (place.server, place.ordinal)
                held.setdefault(key, []).append((place.memory_bytes, place.whole))
        for (name, ordinal), shares in held.items():
            assert sum(size for size, _ in shares) <= MEMORY[name][ordinal]
            assert len(shares) == 1 or not any(whole for _, whole in shares), "double grant"

    @invariant()
    def compute_is_never_promised_twice(self) -> None:
        held: dict[tuple[str, int], int] = {}
        for lease in self.state.ledger.leases.values():
            for place in lease.placements.values():
                key = (place.server, place.ordinal)
                held[key] = held.get(key, 0) + place.milli
        assert all(milli <= 1000 for milli in held.values())

    @invariant()
    def quotas_hold(self) -> None:
        for quota in self.state.ledger.books.quotas.values():
            if quota.borrow_milli >= 0:
                used = self.state.tenants.used(quota.tenant).milli
                assert used <= quota.milli + quota.borrow_milli

    @invariant()
    def gangs_are_whole_or_not_there(self) -> None:
        """A new lease has all its devices; only the loss of a server takes some away."""
        for request in self.state.line.opening.values():
            lease = self.state.ledger.leases[request.lease_id]
            assert len(lease.placements) == lease.size == request.wish.gpus or request.joined

    @invariant()
    def changes_rebuild_the_books(self) -> None:
        self.changes += [decode(encode(change)) for change in self.state.take_changes()]
        books = replay(self.changes)
        assert books.same_as(self.state.ledger.books)

    @invariant()
    def the_line_is_in_order_within_a_tenant(self) -> None:
        order = list(self.state.line.queue.in_order(self.now))
        assert len(order) == len(self.state.line.queue)
        seen: dict[tuple[int, str], int] = {}
        for request in order:
            key = (request.wish.priority, request.wish.tenant)
            assert seen.get(key, 0) < request.place
            seen[key] = request.place

    @invariant()
    def nobody_waits_who_could_be_first_and_fit(self) -> None:
        """The head of the line waits only for what is not there."""
        before = len(self.state.line.waiting)
        self.play(self.state.line.pump(self.now))
        assert len(self.state.line.waiting) == before

    @invariant()
    def every_open_request_is_somewhere(self) -> None:
        known = {request.request_id for request in self.state.line.waiting}
        known |= set(self.state.line.opening)
        assert known == set(self.open_requests)

    @invariant()
    def who_waits_has_a_place_that_outlives_the_broker(self) -> None:
        places = self.state.ledger.books.waiting
        waiting = {request.place for request in self.state.line.waiting}
        opening = {request.place for request in self.state.line.opening.values()}
        assert waiting <= places.keys() <= waiting | opening

    @invariant()
    def the_books_agree(self) -> None:
        ledger = self.state.ledger
        for session in ledger.sessions.values():
            assert session.session_id in ledger.leases[session.lease_id].sessions
            assert session.session_id in ledger.servers[session.placement.server].sessions
        for lease in ledger.leases.values():
            assert lease.sessions <= ledger.sessions.keys() and lease.sessions
        for job, lease_id in ledger.jobs.items():
            assert ledger.leases[lease_id].job_id == job
        for server in ledger.servers.values():
            assert server.sessions <= ledger.sessions.keys()


TestBroker = BrokerMachine.TestCase
TestBroker.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
