{{/* The handler of a probe: .path over HTTP, or a TCP connection with mTLS, because the kubelet has no client
certificate. */}}
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

{{/* Consumer group through which replicas share the groups; empty if they do not. */}}
{{- define "rebalance-agent.observer.group" -}}
{{- dig "replicas_group" "rebalance-agent" (default (dict) .Values.observer.settings) -}}
{{- end -}}
