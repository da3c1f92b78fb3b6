"""A real Kubernetes node on this machine, in its own network, with Kafka, the chart and consumers.

`node` starts it (with `control_plane` as its control plane), of `files`, `images`, `network`, `dns` and what
`needs` sees to; `leftovers` is how the machine gets rid of it. `kafka`, `release`, `consumers` and `prometheus` are
what runs there. Only for Linux and root; ``make test-node``.
"""
