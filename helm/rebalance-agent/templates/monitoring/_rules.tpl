{{/*
The groups of a rule file, whose .text has ${ALERT.PARAMETER} where a value belongs: with the defaults of
files/rules.values.yaml, and those of `monitoring.prometheusRule` over them. The text is never a template: what is between
{{ and }} in it is meant for Prometheus.
*/}}
{{- define "rebalance-agent.rules" -}}
{{- $rule := .context.Values.monitoring.prometheusRule -}}
{{- $defaults := .context.Files.Get "files/rules.values.yaml" | fromYaml -}}
{{- $text := .text -}}
{{- range $alert, $parameters := mergeOverwrite $defaults (deepCopy (default (dict) $rule.alerts)) (dict "shared" (default (dict) $rule.shared)) -}}
{{- range $name, $value := omit $parameters "labels" -}}
{{- $text = replace (printf "${%s.%s}" $alert $name) (include "rebalance-agent.text" $value) $text -}}
{{- end -}}
{{- end -}}
{{- range (fromYaml $text).groups -}}
{{- $rules := list -}}
{{- range .rules -}}
{{- if not (has .alert $rule.disabled) -}}
{{- $rules = append $rules (include "rebalance-agent.rule" (dict "written" . "values" $rule) | fromYaml) -}}
{{- end -}}
{{- end -}}
{{- if $rules }}
- name: {{ .name }}
  interval: {{ $rule.interval }}
  rules:
    {{- toYaml $rules | nindent 4 }}
{{- end }}
{{- end -}}
{{- end -}}

{{/* A rule as it is .written, with what .values say of its labels and durations. */}}
{{- define "rebalance-agent.rule" -}}
{{- if .written.alert -}}
{{- $own := dig .written.alert (dict) (default (dict) .values.alerts) -}}
{{- $labels := mergeOverwrite (dict) .written.labels (default (dict) .values.alertLabels) (dig "labels" (dict) $own) -}}
{{- toYaml (mergeOverwrite (dict) .written (pick $own "for" "keep_firing_for") (dict "labels" $labels)) -}}
{{- else -}}
{{- toYaml .written -}}
{{- end -}}
{{- end -}}
