"""Computes flows in a network: the maximum flow, and the cheapest maximum flow.

Dinic's algorithm computes the maximum flow. The primal-dual method computes the cheapest flow: for each price level,
Dijkstra's algorithm finds the shortest distances on reduced costs, then Dinic's sends all that fits at this price.
Costs are whole numbers, so results are exact.
"""

from __future__ import annotations

import heapq

__all__ = ["Network"]


class Network:
    """A directed network of ``nodes`` nodes, numbered from 0.

    Arcs come in pairs: arc ``a`` and its reverse ``a ^ 1``; ``residual[a]`` is what can still be sent along ``a``.
    """

    def __init__(self, nodes: int) -> None:
        """Create a network without arcs."""
        self.arcs: list[list[int]] = [[] for _ in range(nodes)]
        self.head: list[int] = []
        self.residual: list[int] = []
        self.cost: list[int] = []
        self._price = [0] * nodes

    def add(self, tail: int, head: int, capacity: int, cost: int = 0, sent: int = 0) -> int:
        """Add an arc of ``capacity`` that already carries ``sent``; return its number.

        The initial flow must be the cheapest possible of its size: an arc with residual capacity has a cost of at least
        0, and an arc with flow has a cost of at most 0.
        """
        arc = len(self.head)
        self.head += (head, tail)
        self.residual += (capacity - sent, sent)
        self.cost += (cost, -cost)
        self.arcs[tail].append(arc)
        self.arcs[head].append(arc + 1)
        return arc

    def sent(self, arc: int) -> int:
        """Return the flow along ``arc``."""
        return self.residual[arc ^ 1]

    def send_cheapest(self, source: int, sink: int) -> None:
        """Send as much as fits, in the cheapest way."""
        while self._reprice(source, sink):
            self.send(source, sink)

    def send(self, source: int, sink: int) -> None:
        """Send as much as fits along arcs whose reduced cost is 0, which are all arcs if none has a cost."""
        while True:
            level = self._levels(source, sink)
            if level[sink] < 0:
                return
            self._block(source, sink, level)

    def reachable(self, source: int) -> list[bool]:
        """Return the nodes to which more could be sent; after `send`, this is the source's side of a minimum cut."""
        return [level >= 0 for level in self._levels(source, -1)]

    def _levels(self, source: int, sink: int) -> list[int]:
        head, residual, cost, price = self.head, self.residual, self.cost, self._price
        level = [-1] * len(self.arcs)
        level[source] = 0
        front = [source]
        depth = 0
        while front and (sink < 0 or level[sink] < 0):
            depth += 1
            following = []
            for node in front:
                here = price[node]
                for arc in self.arcs[node]:
                    other = head[arc]
                    if level[other] < 0 and residual[arc] and cost[arc] + here == price[other]:
                        level[other] = depth
                        following.append(other)
            front = following
        return level

    def _block(self, source: int, sink: int, level: list[int]) -> None:
        """Saturate the layered graph: walk from the source, backtrack from dead ends, until no path is left."""
        head, residual, cost, price = self.head, self.residual, self.cost, self._price
        following = [0] * len(self.arcs)
        path: list[int] = []
        node = source
        while True:
            if node == sink:
                amount = min(residual[arc] for arc in path)
                for arc in path:
                    residual[arc] -= amount
                    residual[arc ^ 1] += amount
                full = next(index for index, arc in enumerate(path) if not residual[arc])
                node = head[path[full] ^ 1]
                del path[full:]
                continue
            arcs = self.arcs[node]
            while following[node] < len(arcs):
                arc = arcs[following[node]]
                other = head[arc]
                if residual[arc] and level[other] == level[node] + 1 and cost[arc] + price[node] == price[other]:
                    path.append(arc)
                    node = other
                    break
                following[node] += 1
            else:
                if not path:
                    return
                node = head[path.pop() ^ 1]
                following[node] += 1

    def _reprice(self, source: int, sink: int) -> bool:
        """Raise the prices by the shortest distances from ``source``; return False if the sink cannot be reached."""
        head, residual, cost, price = self.head, self.residual, self.cost, self._price
        far = sum(map(abs, cost)) + 1
        distance = [far] * len(self.arcs)
        distance[source] = 0
        heap = [(0, source)]
        while heap:
            near, node = heapq.heappop(heap)
            if near > distance[node] or near > distance[sink]:
                continue
            here = near + price[node]
            for arc in self.arcs[node]:
                if residual[arc]:
                    other = head[arc]
                    reach = here + cost[arc] - price[other]
                    if reach < distance[other]:
                        distance[other] = reach
                        heapq.heappush(heap, (reach, other))
        limit = distance[sink]
        if limit == far:
            return False
        for node, reach in enumerate(distance):
            price[node] += min(reach, limit)
        return True
