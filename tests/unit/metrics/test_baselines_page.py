import threading

from rebalance_agent.clock import FakeClock
from rebalance_agent.metrics.export.baselines_page import BaselinesPage
from rebalance_agent.metrics.export.text import TextFormat
from rebalance_agent.model.baseline import AdviceSavings, BaselineScope, GroupBaseline, HourBaseline
from rebalance_agent.polls.baseline_reader import Baselines
from support.observer.scrapes import families
from support.observer.views import full_view

MONDAY = 1_704_067_200_000  # 2024-01-01 00:00 UTC
NAME = "kafka_rebalance_stall_baseline_seconds"


def baseline(group, *hours):
    reported = (HourBaseline(hour, BaselineScope.HOUR_OF_WEEK, 30, *seconds) for hour, *seconds in hours)
    return GroupBaseline("c", group, MONDAY, tuple(reported))


class BaselinesSetup:
    def __init__(self, *groups, text=None):
        self.groups, self.clock, self.known = list(groups), FakeClock(MONDAY), Baselines()
        self.page = BaselinesPage(self.known, lambda: map(full_view, self.groups), self.clock, text)

    def samples(self):
        return {
            (sample.labels["consumergroup"], sample.labels["percentile"]): sample.value
            for family in families(self.page.text()).values()
            for sample in family.samples
        }


def test_reported_groups_have_their_current_baseline():
    setup = BaselinesSetup("g", "unknown")
    setup.known.put(baseline("g", (0, 0.5, 1.5, 9.0)))
    setup.known.put(baseline("not ours", (0, 0.5, 1.5, 9.0)))
    assert setup.samples() == {("g", "p50"): 0.5, ("g", "p95"): 1.5, ("g", "p99"): 9.0}


def test_the_baseline_changes_at_the_hour_and_is_absent_if_unknown():
    setup = BaselinesSetup("g")
    setup.known.put(baseline("g", (0, 0.5, 1.5, 9.0), (1, 0.75, 2.0), (167, 4.0)))
    setup.clock.advance(3_599_999)
    assert setup.samples()["g", "p50"] == 0.5
    setup.clock.advance(1)
    assert setup.samples() == {("g", "p50"): 0.75, ("g", "p95"): 2.0}
    setup.clock.advance(3_600_000)
    assert setup.page.text() == b""
    setup.clock.advance(165 * 3_600_000)
    assert setup.samples() == {("g", "p50"): 4.0}


def test_the_page_follows_created_and_deleted_groups_and_new_baselines():
    setup = BaselinesSetup("a")
    setup.known.put(baseline("a", (0, 1.0)))
    setup.known.put(baseline("b", (0, 2.0)))
    assert setup.samples() == {("a", "p50"): 1.0}
    setup.groups[:] = ["b"]
    assert setup.samples() == {("b", "p50"): 2.0}
    setup.known.put(baseline("b", (0, 3.0)))
    assert setup.samples() == {("b", "p50"): 3.0}
    setup.known.drop("b")
    assert setup.page.text() == b""


def test_savings_are_reported_if_they_are_measured_or_predicted():
    setup = BaselinesSetup("made", "measured", "open", "none")
    savings = {
        "made": AdviceSavings(taken=1),
        "measured": AdviceSavings(taken=2, measured=1, realised=-4.0, predicted=10.0),
        "open": AdviceSavings(open=2, open_predicted=30.5),
        "not ours": AdviceSavings(open=2, open_predicted=30.5),
    }
    for group, each in savings.items():
        setup.known.put(GroupBaseline("c", group, MONDAY, (), each))
    shown = {
        (sample.name.removeprefix("kafka_rebalance_advice_weekly_"), *sample.labels.values()): sample.value
        for family in families(setup.page.text()).values()
        for sample in family.samples
    }
    assert shown == {
        ("saved_partition_seconds", "measured", "measured"): -4.0,
        ("saved_partition_seconds", "measured", "predicted"): 10.0,
        ("open_partition_seconds", "open"): 30.5,
    }


def test_without_any_baseline_the_page_is_empty():
    assert BaselinesSetup("g").page.text() == b""


def test_the_cluster_name_is_a_label():
    setup = BaselinesSetup("g", text=TextFormat("east"))
    setup.known.put(baseline("g", (0, 0.5)))
    assert f'{NAME}{{cluster="east",consumergroup="g",percentile="p50"}} 0.5\n'.encode() in setup.page.text()


def test_concurrent_scrapes_agree_while_baselines_arrive():
    setup, wrong = BaselinesSetup("g"), []
    setup.known.put(baseline("g", (0, 1.0)))

    def scrape():
        shown = (setup.samples() for _ in range(300))
        wrong.extend(samples for samples in shown if samples.keys() != {("g", "p50")})

    threads = [threading.Thread(target=scrape) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(300):
        setup.known.put(baseline("g", (0, float(number))))
    for thread in threads:
        thread.join()
    assert wrong == []
    assert setup.samples() == {("g", "p50"): 299.0}
