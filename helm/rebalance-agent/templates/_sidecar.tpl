{{/*
The sidecar, for charts that have this one as a dependency (examples/helm/consumer). Their own templates call

    {{ include "rebalance-agent.sidecar" (dict "chart" (index .Subcharts "rebalance-agent") "workload" NAME "image" IMAGE) }}

for an init container (the first one: it begins before all others and ends after them), and with the same argument
`rebalance-agent.sidecar.volumes` for its volumes and `rebalance-agent.sidecar.address` for the environment of the consumer's
container. The observer shows `workload` and `image` with the consumer, and recognises deploys by them; both are
optional.
*/}}
{{- define "rebalance-agent.sidecar" -}}
{{- $chart := .chart -}}
{{- $sidecar := $chart.Values.sidecar -}}
{{- $settings := include "rebalance-agent.sidecar.settings" $chart | fromYaml -}}
{{- with $chart.Values.clusterName }}{{- $settings = merge (dict) $settings (dict "cluster_name" .) }}{{- end -}}
{{- $settings = merge (dict) $settings (dict "listen" (include "rebalance-agent.sidecar.listen" $chart)) -}}
name: rebalance-agent
image: {{ include "rebalance-agent.image" $chart }}
imagePullPolicy: {{ $chart.Values.image.pullPolicy }}
restartPolicy: Always
args: {{ include "rebalance-agent.sidecar.args" . | fromYamlArray | toJson }}
env:
  - name: POD_NAME
    valueFrom: {fieldRef: {fieldPath: metadata.name}}
  - name: NODE_NAME
    valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
  {{- with .workload }}
  - name: WORKLOAD
    value: {{ . | quote }}
  {{- end }}
  {{- with .image }}
  - name: IMAGE
    value: {{ . | quote }}
  {{- end }}
  {{- with include "rebalance-agent.kafka.env" $chart | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- range $name, $value := $settings }}
  - name: {{ include "rebalance-agent.sidecar.variable" $name }}
    value: {{ include "rebalance-agent.text" $value | quote }}
  {{- end }}
  {{- with $sidecar.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $sidecar.extraEnvFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
ports:
  - name: rebalance-agent
    containerPort: 29308
    protocol: TCP
startupProbe:
  exec:
    command: {{ include "rebalance-agent.sidecar.startup" . | fromYamlArray | toJson }}
  periodSeconds: 1
  timeoutSeconds: 30
  failureThreshold: 10
resources:
  {{- toYaml $sidecar.resources | nindent 2 }}
securityContext:
  {{- include "rebalance-agent.securityContext" $chart | nindent 2 }}
{{- $sources := include "rebalance-agent.sidecar.sources" $chart | trim }}
{{- $seats := include "rebalance-agent.sidecar.seats" $chart }}
{{- if or $sources $seats }}
volumeMounts:
  {{- if $sources }}
  - name: rebalance-agent
    mountPath: /etc/rebalance-agent
    readOnly: true
  {{- end }}
  {{- with $seats }}
  - name: rebalance-agent-seats
    mountPath: {{ . }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* Volumes of that container; nothing if it needs none. */}}
{{- define "rebalance-agent.sidecar.volumes" -}}
{{- with include "rebalance-agent.sidecar.sources" .chart | trim -}}
- name: rebalance-agent
  projected:
    sources:
      {{- . | nindent 6 }}
{{- end }}
{{- if include "rebalance-agent.sidecar.seats" .chart }}
- name: rebalance-agent-seats
  emptyDir: {}
{{- end }}
{{- end -}}

{{/* The settings by their names, as a YAML mapping. */}}
{{- define "rebalance-agent.sidecar.settings" -}}
{{- $settings := default (dict) .Values.sidecar.settings -}}
{{- if include "rebalance-agent.sidecar.switch" . -}}
{{- $settings = merge (dict) $settings (dict "gateway_seats_switch_file" "/etc/rebalance-agent/seats/switch") -}}
{{- end -}}
{{- with include "rebalance-agent.sidecar.seats" . -}}
{{- $settings = merge (dict) $settings (dict "gateway_seats_file" (printf "%s/seats" .)) -}}
{{- end -}}
{{- toYaml $settings -}}
{{- end -}}

{{/*
The folder in which the gateway saves its seats, on a volume that outlives its container; empty without seats, and if the
settings name a file.
*/}}
{{- define "rebalance-agent.sidecar.seats" -}}
{{- $settings := default (dict) .Values.sidecar.settings -}}
{{- if and (get $settings "gateway_seats") (not (hasKey $settings "gateway_seats_file")) -}}
/var/lib/rebalance-agent
{{- end -}}
{{- end -}}

{{/* The ConfigMap that switches seats off; empty if there is none. Without seats the setting would make a sidecar a gateway. */}}
{{- define "rebalance-agent.sidecar.switch" -}}
{{- if get (default (dict) .Values.sidecar.settings) "gateway_seats" -}}{{- .Values.sidecar.seatsSwitchConfigMap -}}{{- end -}}
{{- end -}}

{{/* Sources of its volume. */}}
{{- define "rebalance-agent.sidecar.sources" -}}
{{- include "rebalance-agent.kafka.sources" . }}
{{- with include "rebalance-agent.sidecar.switch" . }}
- configMap:
    name: {{ . | quote }}
    optional: true
    items:
      - {key: seats, path: seats/switch}
{{- end }}
{{- end -}}

{{/* The sidecar's address for the consumer's instrumentation. Empty behind a gateway, which already reads everything
that would be reported. */}}
{{- define "rebalance-agent.sidecar.address" -}}
- name: REBALANCE_AGENT_EVENTS_URL
  value: {{ get (default (dict) .chart.Values.sidecar.settings) "gateway_groups" | empty | ternary "http://127.0.0.1:29309/v1/events" "" | quote }}
{{- end -}}

{{/*
The readiness probe of the consumer's container; empty without `sidecar.memberReadiness`. After the container is
ready, it fails only if the sidecar does not respond for 16 seconds.
*/}}
{{- define "rebalance-agent.sidecar.readiness" -}}
{{- if .chart.Values.sidecar.memberReadiness -}}
{{- include "rebalance-agent.sidecar.memberProbe" .chart -}}
{{- end -}}
{{- end -}}

{{/* That probe. */}}
{{- define "rebalance-agent.sidecar.memberProbe" -}}
httpGet:
  path: /readyz/member
  port: 29308
periodSeconds: 2
timeoutSeconds: 2
failureThreshold: 8
{{- end -}}

{{/* If the sidecar exited, the pod would not start. So with a wrong setting it logs the error and keeps running. */}}
{{- define "rebalance-agent.sidecar.args" -}}
[sidecar, --stay]
{{- end -}}

{{/*
Waits until the sidecar listens, and succeeds after a timeout, so other containers wait at most these seconds.
Kubernetes' own probes do not fit: a failing probe restarts the container, and blocks the others until it succeeds.
*/}}
{{- define "rebalance-agent.sidecar.startup" -}}
[python, -m, rebalance_agent.runtime.startup]
{{- end -}}

{{/* Listen address of its metrics. */}}
{{- define "rebalance-agent.sidecar.listen" -}}
{{- .Values.listenHost }}:29308
{{- end -}}

{{/* Environment variable of the setting `.`. */}}
{{- define "rebalance-agent.sidecar.variable" -}}
REBALANCE_AGENT_{{ . | upper }}
{{- end -}}
