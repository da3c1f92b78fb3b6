from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.instrumentation.delivery import outbox
from rebalance_agent.instrumentation.delivery.outbox import Outbox

STEPS = st.lists(
    st.one_of(
        st.binary(max_size=outbox.LINE_BYTES_MAX // 4096).map(lambda line: ("put", line * 4097)),
        st.sampled_from([("taken", None), ("lost", None)]),
    ),
    max_size=60,
)


@given(STEPS)
def test_every_event_is_waiting_sent_or_counted_as_dropped_and_the_bounds_hold(steps):
    box = Outbox()
    put = sent = published = 0
    for step, line in steps:
        if step == "put":
            box.put(line)
            put += 1
        elif (batch := box.take()) is not None:
            assert len(batch.body) <= outbox.BATCH_BYTES_MAX
            assert batch.events <= outbox.BATCH_EVENTS_MAX
            assert batch.dropped == box.dropped
            if step == "taken":
                box.reported(batch.dropped)
                sent += batch.events
                published += batch.dropped
            else:
                box.lose(batch.events)
        assert put == len(box) + sent + published + box.dropped
        assert sum(map(len, box._lines)) == box._bytes <= outbox.WAITING_BYTES_MAX
        assert len(box) <= outbox.WAITING_MAX
