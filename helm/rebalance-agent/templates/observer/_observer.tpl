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
