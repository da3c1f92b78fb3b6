{{/* All parameters and annotations: files/injection.yaml. */}}
{{- define "rebalance-agent.injection.settings" -}}
{{- .Files.Get "files/injection.yaml" -}}
{{- end -}}

{{/* This release's defaults for pods and namespaces without annotations: the values of all sidecars, overridden by
`injection.parameters`. */}}
{{- define "rebalance-agent.injection.parameters" -}}
{{- $kafka := include "rebalance-agent.kafka.properties" . | fromYaml -}}
{{- $resources := default (dict) .Values.sidecar.resources -}}
{{- $settings := default (dict) .Values.sidecar.settings -}}
{{- $values := dict
  "image" (include "rebalance-agent.image" .)
  "image-pull-policy" .Values.image.pullPolicy
  "bootstrap-servers" (index $kafka "bootstrap.servers")
  "security-protocol" (index $kafka "security.protocol")
  "sasl-mechanism" (index $kafka "sasl.mechanism")
  "events-topic" (get $settings "events_topic")
  "gateway-groups" (get $settings "gateway_groups")
  "member-readiness" (ternary "true" "" .Values.sidecar.memberReadiness)
  "cluster-name" .Values.clusterName
  "log-level" (get $settings "log_level")
  "cpu-request" (dig "requests" "cpu" "" $resources)
  "cpu-limit" (dig "limits" "cpu" "" $resources)
  "memory-request" (dig "requests" "memory" "" $resources)
  "memory-limit" (dig "limits" "memory" "" $resources)
  "run-as-user" (get (default (dict) .Values.securityContext) "runAsUser")
-}}
{{- range $key, $value := merge (dict) (default (dict) .Values.injection.parameters) $values }}
{{- with $value }}
{{ $key }}: {{ include "rebalance-agent.text" . | quote }}
{{- end }}
{{- end }}
{{- end -}}
