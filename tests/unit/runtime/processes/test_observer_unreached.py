"""An observer whose cluster no longer answers."""

from __future__ import annotations

from types import SimpleNamespace

from rebalance_agent.errors import ClusterError
from rebalance_agent.runtime.processes import observer
from rebalance_agent.runtime.settings.roles import ObserverSettings
from support.observer.observing import eventually, running


class Brokers:
    """A cluster whose brokers can be stopped."""

    def __init__(self):
        self.down = self.unseen = False
        self.access = None

    def stop(self):
        self.down = self.unseen = True

    def identify(self):
        if self.down:
            raise ClusterError("no broker answers")
        return "c", {}

    def lost(self):
        unseen, self.unseen = self.unseen, False
        return unseen


class NoWatch:
    """A watch that does nothing."""

    def __init__(self, *_arguments, **_options):
        pass

    def start(self, _stack):
        pass

    def close(self, _seconds):
        pass

    def denied(self):
        return ()

    def views(self):
        return ()


def test_the_cluster_is_not_ready_while_its_brokers_are_down(monkeypatch):
    brokers = Brokers()
    monkeypatch.setattr(observer, "watch_context", lambda *_arguments: SimpleNamespace(cluster=brokers))
    monkeypatch.setattr(observer, "ClusterWatch", NoWatch)
    monkeypatch.setattr(observer, "rights_watch", lambda *_arguments: lambda: None)
    settings = ObserverSettings(listen="127.0.0.1:0", events_topic="", baselines_topic="", lag_groups="")
    role = observer.Observer(settings, {"bootstrap.servers": "127.0.0.1:1"})
    with running(role) as watched:
        eventually(lambda: watched.parts().get("cluster") == "ready")
        brokers.stop()
        eventually(lambda: watched.parts().get("cluster") == "no broker answers")
        brokers.down = False
        eventually(lambda: watched.parts().get("cluster") == "ready")
