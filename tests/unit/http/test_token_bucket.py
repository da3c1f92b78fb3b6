from rebalance_agent.clock import FakeClock
from rebalance_agent.http.token_bucket import TokenBucket


def test_a_burst_passes_and_then_the_rate():
    clock = FakeClock()
    bucket = TokenBucket(rate=10, burst=20, clock=clock)
    assert bucket.take(20) == 0
    assert bucket.take(5) == 0.5
    clock.advance(499)
    assert bucket.take(5) > 0
    clock.advance(1)
    assert bucket.take(5) == 0


def test_a_refusal_takes_no_tokens():
    bucket = TokenBucket(rate=1, burst=10, clock=FakeClock())
    assert bucket.take(11) == 1
    assert bucket.take(10) == 0


def test_tokens_never_exceed_the_burst():
    clock = FakeClock()
    bucket = TokenBucket(rate=1_000, burst=10, clock=clock)
    clock.advance(3_600_000)
    assert bucket.take(11) > 0


def test_tokens_that_are_put_back_can_be_taken_again():
    bucket = TokenBucket(rate=1, burst=10, clock=FakeClock())
    assert bucket.take(8) == 0
    bucket.put_back(8)
    assert bucket.take(10) == 0
    bucket.put_back(99)
    assert bucket.take(11) == 1
