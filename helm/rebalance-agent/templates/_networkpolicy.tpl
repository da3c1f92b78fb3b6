{{/* The connections that a .policy of the values allows its pods to open: DNS, the brokers, and its own rules. */}}
{{- define "rebalance-agent.networkPolicy.egress" -}}
{{- $ports := default (list) .policy.brokerPorts -}}
{{- if not $ports -}}
{{- range splitList "," (default "" .context.Values.kafka.bootstrapServers) | compact -}}
{{- /* librdkafka's default port is 9092. */ -}}
{{- $ports = append $ports (trim . | regexFind ":[0-9]+$" | trimPrefix ":" | default "9092") -}}
{{- end -}}
{{- end -}}
# DNS. OpenShift's DNS pods listen on 5353, and network policies apply to the pods' ports.
- ports:
    - {port: 53, protocol: UDP}
    - {port: 53, protocol: TCP}
    - {port: 5353, protocol: UDP}
    - {port: 5353, protocol: TCP}
  {{- with .policy.dns }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- with $ports }}
- ports:
    {{- range . | uniq }}
    - {port: {{ . }}, protocol: TCP}
    {{- end }}
  {{- with $.policy.brokers }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- with .policy.extraEgress }}
{{ toYaml . }}
{{- end }}
{{- end -}}
