{{/*
The groups of a rule file. Placeholders ${ALERT.PARAMETER} in its .text are replaced by the defaults of
files/rules.values.yaml, overridden by `monitoring.prometheusRule`. The text is not a Helm template: its {{ and }} are
for Prometheus.
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

{{/* The rule .written, with labels and durations of .values. */}}
{{- define "rebalance-agent.rule" -}}
{{- if .written.alert -}}
{{- $own := dig .written.alert (dict) (default (dict) .values.alerts) -}}
{{- $labels := mergeOverwrite (dict) .written.labels (default (dict) .values.alertLabels) (dig "labels" (dict) $own) -}}
{{- toYaml (mergeOverwrite (dict) .written (pick $own "for" "keep_firing_for") (dict "labels" $labels)) -}}
{{- else -}}
{{- toYaml .written -}}
{{- end -}}
{{- end -}}
