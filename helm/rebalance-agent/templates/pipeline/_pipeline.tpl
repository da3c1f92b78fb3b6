{{/* Name of the pipeline's objects; a CronJob's has at most 52 characters. */}}
{{- define "rebalance-agent.pipeline.name" -}}
{{- printf "%s-pipeline" (include "rebalance-agent.fullname" . | trunc 43 | trimSuffix "-") -}}
{{- end -}}

{{- define "rebalance-agent.pipeline.image" -}}
{{- $image := merge (dict "registry" (default .Values.image.registry .Values.pipeline.image.registry)) .Values.pipeline.image -}}
{{- include "rebalance-agent.imageReference" (dict "image" $image "version" .Chart.AppVersion) -}}
{{- end -}}

{{- define "rebalance-agent.pipeline.claim" -}}
{{- default (include "rebalance-agent.pipeline.name" .) .Values.pipeline.persistence.existingClaim -}}
{{- end -}}

{{/* Labels that select the pods of all stages. */}}
{{- define "rebalance-agent.pipeline.selectorLabels" -}}
{{ include "rebalance-agent.selectorLabels" . }}
app.kubernetes.io/component: pipeline
{{- end -}}

{{/* Whether a .stage writes the weekly page; a run can write it beside the report. */}}
{{- define "rebalance-agent.pipeline.weekly" -}}
{{- if and (eq .name "report") (has "--weekly" (default list .args)) }}true{{ end -}}
{{- end -}}

{{/* A .stage's name, with a suffix for the weekly page. */}}
{{- define "rebalance-agent.pipeline.stageName" -}}
{{- .name }}{{ if include "rebalance-agent.pipeline.weekly" . }}-weekly{{ end -}}
{{- end -}}

{{/* Whether a .stage ends without an error although expectations are broken: one of the stages .later in the same pod is
a report, which fails instead, after it has written its page. */}}
{{- define "rebalance-agent.pipeline.keepsGoing" -}}
{{- if and (has .stage.name (list "aggregate" "whatif" "report")) (not (has "--strict" (default list .stage.args))) -}}
{{- range .later }}{{ if eq .name "report" }}true{{ end }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* Arguments of one .stage of the pipeline, for the container that runs it. The user's own arguments come last: they
override the chart's. */}}
{{- define "rebalance-agent.pipeline.arguments" -}}
{{- $pipeline := .context.Values.pipeline -}}
- pipeline
- {{ .stage.name }}
- {{ printf "--tables=%s" (default "/var/lib/rebalance-agent/tables" $pipeline.tables) | quote }}
{{- if has .stage.name (list "ingest" "backfill" "aggregate") }}
- --config=/etc/rebalance-agent/settings.yaml
{{- end }}
{{- if eq .stage.name "report" }}
- --out=/var/lib/rebalance-agent/{{ include "rebalance-agent.pipeline.weekly" .stage | empty | ternary "report.html" "weekly" }}
{{- end }}
{{- if eq $pipeline.kind "CronJob" }}
- {{ printf "--driver-memory=%s" $pipeline.driverMemory | quote }}
{{- range $name, $value := $pipeline.sparkProperties }}
- {{ printf "--spark=%s=%s" $name (include "rebalance-agent.text" $value) | quote }}
{{- end }}
{{- end }}
{{- if include "rebalance-agent.pipeline.keepsGoing" . }}
- --keep-going
{{- end }}
{{- with .stage.args }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "rebalance-agent.pipeline.volumes" -}}
- name: settings
  projected:
    defaultMode: 0440
    sources:
      {{- include "rebalance-agent.settings.sources" . | nindent 6 }}
- name: tmp
  emptyDir: {}
{{- if .Values.pipeline.persistence.enabled }}
- name: tables
  persistentVolumeClaim:
    claimName: {{ include "rebalance-agent.pipeline.claim" . }}
{{- end }}
{{- with .Values.pipeline.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "rebalance-agent.pipeline.volumeMounts" -}}
- name: settings
  mountPath: /etc/rebalance-agent
  readOnly: true
- name: tmp
  mountPath: /tmp
{{- if .Values.pipeline.persistence.enabled }}
- name: tables
  mountPath: /var/lib/rebalance-agent
{{- end }}
{{- with .Values.pipeline.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The container of one .stage; .later are the stages after it. */}}
{{- define "rebalance-agent.pipeline.container" -}}
{{- $pipeline := .context.Values.pipeline -}}
name: {{ include "rebalance-agent.pipeline.stageName" .stage }}
image: {{ include "rebalance-agent.pipeline.image" .context }}
imagePullPolicy: {{ $pipeline.image.pullPolicy }}
args:
  {{- include "rebalance-agent.pipeline.arguments" . | nindent 2 }}
terminationMessagePolicy: FallbackToLogsOnError
{{- with $pipeline.extraEnv }}
env:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pipeline.extraEnvFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pipeline.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- include "rebalance-agent.securityContext" .context | nindent 2 }}
volumeMounts:
  {{- include "rebalance-agent.pipeline.volumeMounts" .context | nindent 2 }}
{{- end -}}

{{/* Fields that driver and executor pods share. */}}
{{- define "rebalance-agent.pipeline.sparkPod" -}}
{{- $pipeline := .Values.pipeline -}}
labels:
  {{- include "rebalance-agent.podLabels" (dict "context" . "component" "pipeline" "more" $pipeline.podLabels) | nindent 2 }}
{{- with include "rebalance-agent.merged" (list $pipeline.podAnnotations .Values.commonAnnotations) }}
annotations:
  {{- . | nindent 2 }}
{{- end }}
podSecurityContext:
  {{- include "rebalance-agent.podSecurityContext" . | nindent 2 }}
securityContext:
  {{- include "rebalance-agent.securityContext" . | nindent 2 }}
{{- with $pipeline.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pipeline.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pipeline.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pipeline.extraEnv }}
env:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pipeline.extraEnvFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumeMounts:
  {{- include "rebalance-agent.pipeline.volumeMounts" . | nindent 2 }}
{{- end -}}
