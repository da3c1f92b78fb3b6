from rebalance_agent.http.health import REASON_MAX, STARTING, Readiness


def test_a_part_is_not_ready_before_it_reports_ready():
    readiness = Readiness(["kafka"])
    assert readiness.reasons() == {"kafka": STARTING}
    assert not readiness.is_ready


def test_a_process_is_ready_if_every_part_is():
    readiness = Readiness(["kafka", "publisher"])
    readiness.ready("kafka")
    assert not readiness.is_ready
    readiness.ready("publisher")
    assert readiness.is_ready
    readiness.unready("kafka", "broker away")
    assert readiness.reasons() == {"kafka": "broker away", "publisher": None}


def test_a_process_without_parts_is_ready():
    assert Readiness().is_ready


def test_a_reason_is_one_bounded_line_and_never_empty():
    readiness = Readiness()
    readiness.unready("kafka", "a\n  b" + "x" * 1_000)
    assert readiness.reasons()["kafka"].startswith("a bxxx")
    assert len(readiness.reasons()["kafka"]) == REASON_MAX
    readiness.unready("kafka", "")
    assert not readiness.is_ready


def test_a_degraded_process_is_ready_and_names_its_missing_data():
    readiness = Readiness()
    readiness.degraded({"b": "no\n right", "a": None})
    assert readiness.is_ready
    assert readiness.modes() == {"a": None, "b": "no right"}
    readiness.degraded({"b": None})
    assert readiness.modes() == {"a": None, "b": None}
