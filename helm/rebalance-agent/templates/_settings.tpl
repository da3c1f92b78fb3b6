{{/*
The settings file of observer, pipeline and tests (docs/observe.md): the values `observer.settings`, and settings that
follow from other values. It is mounted at /etc/rebalance-agent, beside the Secrets it refers to.
*/}}

{{- define "rebalance-agent.settings" -}}
{{- $observer := .Values.observer -}}
{{- with .Values.clusterName }}
cluster_name: {{ . | quote }}
{{- end }}
{{- with include "rebalance-agent.kafka.properties" . | trim }}
kafka:
  {{- . | nindent 2 }}
{{- end }}
listen: {{ printf "%s:29308" .Values.listenHost | quote }}
{{- include "rebalance-agent.listener.settings" (dict "listener" $observer.web "folder" "web" "tls" "tls" "token" "web_token") }}
{{- if $observer.events.enabled }}
events_listen: {{ printf "%s:29309" .Values.listenHost | quote }}
{{- include "rebalance-agent.listener.settings" (dict "listener" $observer.events "folder" "events" "tls" "events_tls" "token" "events_token") }}
{{- end }}
{{- if and (gt (int $observer.replicas) 1) (not (hasKey (default (dict) $observer.settings) "replicas_group")) }}
replicas_group: {{ include "rebalance-agent.observer.group" . }}
{{- end }}
{{- with $observer.settings }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Settings for the files of a listener (the values observer.web or observer.events) in .folder. */}}
{{- define "rebalance-agent.listener.settings" -}}
{{- $folder := printf "/etc/rebalance-agent/%s" .folder -}}
{{- if .listener.tls.secretName }}
{{ .tls }}_cert_file: {{ $folder }}/tls.crt
{{ .tls }}_key_file: {{ $folder }}/tls.key
{{- if .listener.tls.clientCaKey }}
{{ .tls }}_client_ca_file: {{ $folder }}/ca.crt
{{- end }}
{{- end }}
{{- if .listener.token.secretName }}
{{ .token }}_file: {{ $folder }}/token
{{- end }}
{{- end -}}

{{/* Sources of the projected volume with these files. */}}
{{- define "rebalance-agent.listener.sources" -}}
{{- $folder := .folder -}}
{{- with .listener.tls }}
{{- if .secretName }}
- secret:
    name: {{ .secretName | quote }}
    items:
      - {key: {{ .certKey | quote }}, path: {{ $folder }}/tls.crt}
      - {key: {{ .keyKey | quote }}, path: {{ $folder }}/tls.key}
      {{- with .clientCaKey }}
      - {key: {{ . | quote }}, path: {{ $folder }}/ca.crt}
      {{- end }}
{{- end }}
{{- end }}
{{- with .listener.token }}
{{- if .secretName }}
- secret:
    name: {{ .secretName | quote }}
    items:
      - {key: {{ .key | quote }}, path: {{ $folder }}/token}
{{- end }}
{{- end }}
{{- end -}}

{{/* Sources of the projected volume with the settings and their Secrets for Kafka. */}}
{{- define "rebalance-agent.settings.sources" -}}
- configMap:
    name: {{ include "rebalance-agent.fullname" . }}-settings
{{- with include "rebalance-agent.kafka.sources" . | trim }}
{{ . }}
{{- end }}
{{- end -}}

{{/* The observer's volume: the same, plus certificates and tokens of its ports. */}}
{{- define "rebalance-agent.settings.volume" -}}
name: settings
projected:
  defaultMode: 0440
  sources:
    {{- include "rebalance-agent.settings.sources" . | nindent 4 }}
    {{- with include "rebalance-agent.listener.sources" (dict "listener" .Values.observer.web "folder" "web") | trim }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- if .Values.observer.events.enabled }}
    {{- with include "rebalance-agent.listener.sources" (dict "listener" .Values.observer.events "folder" "events") | trim }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- end }}
{{- end -}}
