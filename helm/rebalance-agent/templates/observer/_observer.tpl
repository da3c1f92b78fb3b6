{{/* The handler of a probe: .path over HTTP, or, where clients must have a certificate that kubelet has not, a connection. */}}
{{- define "rebalance-agent.observer.probe" -}}
{{- $tls := .context.Values.observer.web.tls -}}
{{- if and $tls.secretName $tls.clientCaKey -}}
tcpSocket:
  port: http
{{- else -}}
httpGet:
  path: {{ .path }}
  port: http
  scheme: {{ ternary "HTTPS" "HTTP" (ne $tls.secretName "") }}
{{- end -}}
{{- end -}}

{{/* Consumer group in which replicas share the groups; empty where somebody wants them not to. */}}
{{- define "rebalance-agent.observer.group" -}}
{{- dig "replicas_group" "rebalance-agent" (default (dict) .Values.observer.settings) -}}
{{- end -}}
