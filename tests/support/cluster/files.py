"""Configuration of the node's programs: containerd, network plugins, kubelet, kube-proxy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from support.cluster import cgroups
from support.cluster.network import ADDRESS

__all__ = ["EVICTION_BYTES", "PAUSE", "PODS", "Place", "write_files", "write_kubelet"]

PAUSE = "lab.local/pause:1"
"""The image that holds a pod's namespaces."""

PODS = "10.88.0.0/16"

EVICTION_BYTES = 1 << 30
"""Kubelet evicts a pod when less memory than this is available on the node."""

CNI_PLUGINS = "/usr/lib/cni"
"""Folder of Debian's containernetworking-plugins."""


@dataclass(frozen=True)
class Place:
    """``root``: the node's files, on a disk that supports overlayfs; ``run``: its sockets and mounts."""

    root: Path
    run: Path = Path("/run/rebalance-node")

    @property
    def socket(self) -> Path:
        """containerd's socket."""
        return self.run / "containerd.sock"


def write_files(place: Place, kubeconfig: Path) -> None:
    """Write the files of all programs into ``place.root``; ``kubeconfig`` is kube-proxy's."""
    for folder in ("log", "cni", "kubelet"):
        (place.root / folder).mkdir(parents=True, exist_ok=True)
    place.run.mkdir(parents=True, exist_ok=True)
    (place.root / "containerd.toml").write_text(_containerd(place), encoding="utf-8")
    (place.root / "cni" / "10-lab.conflist").write_text(_cni(place), encoding="utf-8")
    write_kubelet(place, EVICTION_BYTES)
    (place.root / "proxy.yaml").write_text(_proxy(kubeconfig), encoding="utf-8")
    # kubelet uses it for pods with hostNetwork; the others get `clusterDNS`.
    (place.root / "resolv.conf").write_text(f"nameserver {ADDRESS}\n", encoding="ascii")


def write_kubelet(place: Place, available: int) -> None:
    """Write kubelet's configuration: it evicts a pod when fewer bytes of memory are ``available`` on the node."""
    (place.root / "kubelet.yaml").write_text(_kubelet(place, available), encoding="utf-8")


def _containerd(place: Place) -> str:
    runtime = 'plugins."io.containerd.grpc.v1.cri".containerd'
    return f"""\
version = 2
root = "{place.root}/containerd"
state = "{place.run}/containerd"
[grpc]
address = "{place.socket}"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE}"
disable_apparmor = true
restrict_oom_score_adj = true
netns_mounts_under_state_dir = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{CNI_PLUGINS}"
conf_dir = "{place.root}/cni"
[{runtime}]
snapshotter = "overlayfs"
default_runtime_name = "runc"
[{runtime}.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[{runtime}.runtimes.runc.options]
SystemdCgroup = false
"""


def _cni(place: Place) -> str:
    return f"""\
{{"cniVersion": "0.4.0", "name": "lab", "plugins": [
  {{"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true, "hairpinMode": true,
    "ipam": {{"type": "host-local", "ranges": [[{{"subnet": "{PODS}"}}]], "routes": [{{"dst": "0.0.0.0/0"}}],
             "dataDir": "{place.root}/cni-data"}}}},
  {{"type": "portmap", "capabilities": {{"portMappings": true}}}}
]}}
"""


def _kubelet(place: Place, available: int) -> str:
    # Clients are in this network already: the API server needs no certificate to fetch logs. Disk space and swap are
    # not checked; cgroups may still be of version 1.
    return f"""\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: {ADDRESS}
authentication: {{anonymous: {{enabled: true}}, webhook: {{enabled: false}}}}
authorization: {{mode: AlwaysAllow}}
cgroupDriver: cgroupfs
cgroupRoot: /{cgroups.NAME}
failSwapOn: false
failCgroupV1: false
makeIPTablesUtilChains: false
containerRuntimeEndpoint: unix://{place.socket}
resolvConf: {place.root}/resolv.conf
clusterDNS: [{ADDRESS}]
clusterDomain: cluster.local
imageGCHighThresholdPercent: 100
evictionHard: {{memory.available: "{available}", nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%}}
evictionPressureTransitionPeriod: 5s
registerNode: true
"""


def _proxy(kubeconfig: Path) -> str:
    return f"""\
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
clientConnection: {{kubeconfig: {kubeconfig}}}
clusterCIDR: {PODS}
conntrack: {{maxPerCore: 0}}
hostnameOverride: node1
"""
