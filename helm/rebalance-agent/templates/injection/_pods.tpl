{{/*
Pods that are not injected: CEL over `.`, a pod or a workload's pod template. The injecting policy does not match them,
and the warning policy returns the reason.
*/}}
{{- define "rebalance-agent.injection.refusals" -}}
host-network:
  when: {{ . }}.spec.?hostNetwork.orValue(false)
  why: >-
    a pod with hostNetwork is not injected: all processes of its node could reach the sidecar, and two such pods would
    need the same ports
windows:
  when: >-
    {{ . }}.spec.?os.?name.orValue("") == "windows" || {{ . }}.spec.?nodeSelector[?"kubernetes.io/os"].orValue("") == "windows"
  why: a Windows pod is not injected, because the sidecar runs on Linux
ports:
  when: >-
    ({{ . }}.spec.containers + {{ . }}.spec.?initContainers.orValue([])).exists(c, c.name != "rebalance-agent" &&
    c.?ports.orValue([]).exists(p, p.containerPort in [29308, 29309] || (p.containerPort == 29092 &&
    {{ . }}.?metadata.?annotations[?"rebalance-agent/gateway-groups"].hasValue())))
  why: >-
    a pod is not injected if one of its containers uses a port of the sidecar: 29308, 29309, or 29092 with
    rebalance-agent/gateway-groups
{{- end -}}

{{/* Whether the pod already has the sidecar: by injection, even if its annotation was removed, or from its chart. */}}
{{- define "rebalance-agent.injection.present" -}}
{{ . }}.metadata.?annotations[?"rebalance-agent/injected"].hasValue() ||
({{ . }}.spec.containers + {{ . }}.spec.?initContainers.orValue([])).exists(c, c.name == "rebalance-agent")
{{- end -}}

{{/* The newest version (v1 or v1beta1) of admissionregistration.k8s.io in which the cluster has
MutatingAdmissionPolicy. Kubernetes 1.36 and newer have v1: `helm template --kube-version` has no list of APIs. */}}
{{- define "rebalance-agent.injection.apiVersion" -}}
{{- $group := "admissionregistration.k8s.io" -}}
{{- if .Values.injection.apiVersion -}}
{{- .Values.injection.apiVersion -}}
{{- else if or (.Capabilities.APIVersions.Has (printf "%s/v1/MutatingAdmissionPolicy" $group)) (semverCompare ">=1.36-0" .Capabilities.KubeVersion.Version) -}}
{{- $group }}/v1
{{- else if .Capabilities.APIVersions.Has (printf "%s/v1beta1/MutatingAdmissionPolicy" $group) -}}
{{- $group }}/v1beta1
{{- else -}}
{{- fail (printf "\n\ninjection.enabled: this cluster (Kubernetes %s) has no MutatingAdmissionPolicy, which injects sidecars. Kubernetes 1.36 and newer have it, and 1.34 and 1.35 if the API server runs with --feature-gates=MutatingAdmissionPolicy=true and --runtime-config=admissionregistration.k8s.io/v1beta1=true. Without it set injection.enabled=false, and put the sidecar into your own charts (docs/inject-a-sidecar.md). helm template does not query a cluster: pass your cluster's version (--kube-version 1.36), or set injection.apiVersion to %s/v1beta1 or %s/v1.\n" .Capabilities.KubeVersion.Version $group $group) -}}
{{- end -}}
{{- end -}}

{{/* CEL for the created pod, the workload's pod template, or the namespace. */}}
{{- define "rebalance-agent.injection.podOf" -}}
request.kind.kind in ["Pod", "Namespace"] ? object : request.kind.kind == "CronJob" ? object.spec.jobTemplate.spec.template : object.spec.template
{{- end -}}

{{/* Name of the policies. They are cluster-scoped, so the namespace distinguishes releases with the same name. */}}
{{- define "rebalance-agent.injection.name" -}}
{{- $namespace := include "rebalance-agent.namespace" . -}}
{{- $name := include "rebalance-agent.fullname" . -}}
{{- printf "%s-injection" (eq $namespace $name | ternary $name (printf "%s-%s" $namespace $name)) -}}
{{- end -}}

{{/* Labels and annotations of the policies. */}}
{{- define "rebalance-agent.injection.metadata" -}}
labels:
  {{- include "rebalance-agent.labels" . | nindent 2 }}
  app.kubernetes.io/component: injection
{{- with .Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
