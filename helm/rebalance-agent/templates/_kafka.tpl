{{/*
The Kafka connection of every role, from the values under `kafka`.

Secrets are files, never variables or arguments: `rebalance-agent.kafka.sources` puts them into a projected volume that is
mounted at /etc/rebalance-agent, and properties refer to these paths.
*/}}

{{/* Kafka client properties under librdkafka's names, as a YAML mapping of texts. */}}
{{- define "rebalance-agent.kafka.properties" -}}
{{- include "rebalance-agent.kafka.own" . }}
{{- range $name, $value := .Values.kafka.properties }}
{{ $name }}: {{ include "rebalance-agent.text" $value | quote }}
{{- end }}
{{- range $name, $_ := .Values.kafka.secretProperties }}
{{ $name }}.file: /etc/rebalance-agent/kafka/{{ $name }}
{{- end }}
{{- end -}}

{{/* The properties that come from separate values (bootstrapServers, tls, sasl). */}}
{{- define "rebalance-agent.kafka.own" -}}
{{- $tls := .Values.kafka.tls -}}
{{- $sasl := .Values.kafka.sasl -}}
{{- $folder := "/etc/rebalance-agent/kafka" -}}
{{- with .Values.kafka.bootstrapServers }}
bootstrap.servers: {{ . | quote }}
{{- end }}
{{- if or $tls.enabled $sasl.enabled }}
security.protocol: {{ printf "%s%s" (ternary "SASL_" "" $sasl.enabled) (ternary "SSL" "PLAINTEXT" $tls.enabled) }}
{{- end }}
{{- if and $tls.enabled $tls.ca.secretName }}
ssl.ca.location: {{ $folder }}/ca.crt
{{- end }}
{{- if and $tls.enabled $tls.certificate.secretName }}
ssl.certificate.location: {{ $folder }}/user.crt
ssl.key.location: {{ $folder }}/user.key
{{- end }}
{{- if $sasl.enabled }}
sasl.mechanism: {{ $sasl.mechanism }}
{{- with $sasl.username }}
sasl.username: {{ . | quote }}
{{- end }}
{{- if $sasl.password.secretName }}
sasl.password.file: {{ $folder }}/password
{{- end }}
{{- end }}
{{- end -}}

{{/* Properties whose values are secret or may contain a secret. */}}
{{- define "rebalance-agent.kafka.secrets" -}}
- sasl.kerberos.kinit.cmd
- sasl.oauthbearer.assertion.private.key.passphrase
- sasl.oauthbearer.assertion.private.key.pem
- sasl.oauthbearer.client.secret
- sasl.oauthbearer.extensions
- sasl.password
- ssl.key.password
- ssl.key.pem
- ssl.keystore.password
{{- end -}}

{{/* Options of sasl.oauthbearer.config that are never secret. */}}
{{- define "rebalance-agent.kafka.loginOptions" -}}
^((client_id|profile|region|role_arn|scope)=[^,\s]*[,\s]*)*$
{{- end -}}

{{/* The properties as environment entries, for containers that have no settings file (sidecars). */}}
{{- define "rebalance-agent.kafka.env" -}}
{{- range $name, $value := include "rebalance-agent.kafka.properties" . | fromYaml }}
- name: REBALANCE_AGENT_KAFKA__{{ $name | upper | replace "." "_" }}
  value: {{ $value | quote }}
{{- end }}
{{- end -}}

{{/* Sources of a projected volume, for the mount at /etc/rebalance-agent, with the secrets of these properties. */}}
{{- define "rebalance-agent.kafka.sources" -}}
{{- $tls := .Values.kafka.tls -}}
{{- $sasl := .Values.kafka.sasl -}}
{{- if and $tls.enabled $tls.ca.secretName }}
- secret:
    name: {{ $tls.ca.secretName | quote }}
    items:
      - {key: {{ $tls.ca.key | quote }}, path: kafka/ca.crt}
{{- end }}
{{- if and $tls.enabled $tls.certificate.secretName }}
- secret:
    name: {{ $tls.certificate.secretName | quote }}
    items:
      - {key: {{ $tls.certificate.certKey | quote }}, path: kafka/user.crt}
      - {key: {{ $tls.certificate.keyKey | quote }}, path: kafka/user.key}
{{- end }}
{{- if and $sasl.enabled $sasl.password.secretName }}
- secret:
    name: {{ $sasl.password.secretName | quote }}
    items:
      - {key: {{ $sasl.password.key | quote }}, path: kafka/password}
{{- end }}
{{- range $name, $from := .Values.kafka.secretProperties }}
- secret:
    name: {{ $from.secretName | quote }}
    items:
      - {key: {{ $from.key | quote }}, path: kafka/{{ $name }}}
{{- end }}
{{- end -}}
