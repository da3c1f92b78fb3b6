"""A real Kubernetes node on this machine, in its own network, with Kafka and consumers.

`node` starts it (with `control_plane` as its control plane), from `files`, `images`, `network` and `dns`; `needs`
checks the requirements, and `leftovers` removes what remains. `kafka` and `consumers` run on it. `kube_tools` builds
the programs. Only for Linux and root; ``make test-node``. The chart and its release are in ``support.helm``.
"""
