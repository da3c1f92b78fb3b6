"""In any order of deploys, crashes, stops and failures, seats are safe: the invariants are those of `World`."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, multiple, rule

from support.examples import examples
from support.seats.world import FORECASTS, SETTINGS, World

GATEWAY = st.sampled_from([0, 1])
SECONDS = st.sampled_from([1.0, 4.0, 12.0])


class Seats(RuleBasedStateMachine):
    """Two gateways, clients with and without a gateway, one coordinator."""

    clients = Bundle("clients")
    CHECKS = None
    WORLD = World
    END_SECONDS = 40.0

    def __init__(self):
        super().__init__()
        self.world = self.WORLD(checks=self.CHECKS)

    @initialize(target=clients, members=st.integers(0, 4), admission=st.sampled_from([0.0, 5.0]))
    def begin(self, members, admission):
        """A stable group."""
        self.world = self.WORLD(settings=replace(SETTINGS, admission_seconds=admission), checks=self.CHECKS)
        started = [self.world.start(number % 2) for number in range(members)]
        self.world.advance(10.0)
        return multiple(*started)

    @rule(
        target=clients,
        gateway=st.sampled_from([0, 0, 1, 1, None]),
        which=st.sampled_from([0, 0, 0, 0, 1, 2]),
        version=st.sampled_from([4, 5, 9, 9, 9]),
        patience=st.sampled_from([2.0, 60.0, 60.0]),
        unfenced=st.sampled_from([False, False, False, True]),
    )
    def start(self, **client):
        return self.world.start(**client)

    @rule(client=consumes(clients), reason=st.sampled_from([None, None, "the consumer unsubscribed"]))
    def stop(self, client, reason):
        self.world.stop(client, reason)

    @rule(target=clients, client=consumes(clients), gateway=GATEWAY)
    def deploy(self, client, gateway):
        """The successor starts first, then the predecessor ends."""
        successor = self.world.start(gateway)
        self.world.advance(2.0)
        self.world.stop(client)
        return successor

    @rule(client=consumes(clients))
    def crash(self, client):
        self.world.crash(client)

    @rule(client=clients, seconds=SECONDS)
    def pause(self, client, seconds):
        self.world.pause(client, seconds)

    @rule(client=clients, seconds=st.sampled_from([0.0, 1.0, 2.5]))
    def reconnect(self, client, seconds):
        self.world.reconnect(client, seconds)

    @rule(
        fault=st.sampled_from([World.pause_gateway, World.cut_off, World.kill]),
        gateway=GATEWAY,
        seconds=SECONDS,
    )
    def break_gateway(self, fault, gateway, seconds):
        fault(self.world, self.world.gateways[gateway], seconds)

    @rule(seconds=SECONDS)
    def fail_over(self, seconds):
        self.world.fail_over(seconds)

    @rule(gateway=GATEWAY, paused=st.booleans())
    def claim_in_use(self, gateway, paused):
        """All locks expire although their gateways continue, and a newcomer looks for a free seat."""
        if paused:
            for client in self.world.clients[:1]:
                self.world.pause(client, 6.0)
        self.world.expire_locks()
        self.world.start(gateway)
        self.world.advance(2.0)

    @rule(forecast=st.sampled_from(FORECASTS), slow=st.booleans())
    def change(self, forecast, slow):
        """The cost of a restart; and whether acts are executed a tick after the decision."""
        self.world.forecast, self.world.slow_acts = forecast, slow

    @rule(seconds=st.sampled_from([0.25, 1.0, 3.0, 6.0, 12.0]))
    def wait(self, seconds):
        self.world.advance(seconds)

    def teardown(self):
        self.world.advance(1.0)
        self.world.heal()
        self.world.advance(60.0)
        self.world.check_recovered()
        self.world.lose_gateways()
        self.world.advance(self.END_SECONDS)
        self.world.check_recovered()


TestSeats = Seats.TestCase
TestSeats.settings = settings(max_examples=examples(100), stateful_step_count=30, deadline=None)
