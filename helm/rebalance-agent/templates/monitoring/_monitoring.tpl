{{/* "true" if the monitoring object with the values .own is enabled and the cluster has its kind. */}}
{{- define "rebalance-agent.monitoring.made" -}}
{{- $known := .context.Capabilities.APIVersions.Has "monitoring.coreos.com/v1" -}}
{{- ternary "true" "" (and .context.Values.monitoring.enabled .own.enabled $known) -}}
{{- end -}}

{{/* Metadata of a monitoring object with the values .own, without its name. */}}
{{- define "rebalance-agent.monitoring.metadata" -}}
{{- $values := .context.Values -}}
namespace: {{ default (include "rebalance-agent.namespace" .context) .own.namespace | quote }}
labels:
  {{- include "rebalance-agent.merged" (list .own.labels $values.monitoring.labels (include "rebalance-agent.labels" .context | fromYaml)) | nindent 2 }}
{{- with include "rebalance-agent.merged" (list .own.annotations $values.commonAnnotations) }}
annotations:
  {{- . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Interval, path and relabelings of an endpoint; .own are the values of a ServiceMonitor or PodMonitor. */}}
{{- define "rebalance-agent.monitoring.scrape" -}}
path: /metrics
{{- with .interval }}
interval: {{ . }}
{{- end }}
{{- with .scrapeTimeout }}
scrapeTimeout: {{ . }}
{{- end }}
{{- with .relabelings }}
relabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .metricRelabelings }}
metricRelabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
