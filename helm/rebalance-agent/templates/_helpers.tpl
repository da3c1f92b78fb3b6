{{/* The chart's name, or nameOverride. */}}
{{- define "rebalance-agent.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* Name of the release's objects: RELEASE-CHART, or RELEASE if it contains the chart's name. At most 63 characters,
the limit of Services. */}}
{{- define "rebalance-agent.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "rebalance-agent.name" . -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Chart name and version as a valid label value. */}}
{{- define "rebalance-agent.chart" -}}
{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "rebalance-agent.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{/* Labels that select pods, besides app.kubernetes.io/component. They never change, because a Deployment's selector is
immutable. */}}
{{- define "rebalance-agent.selectorLabels" -}}
app.kubernetes.io/name: {{ include "rebalance-agent.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{/* Labels of every object; each adds its own app.kubernetes.io/component. */}}
{{- define "rebalance-agent.labels" -}}
{{- $own := dict
  "helm.sh/chart" (include "rebalance-agent.chart" .)
  "app.kubernetes.io/version" .Chart.AppVersion
  "app.kubernetes.io/managed-by" .Release.Service
  "app.kubernetes.io/part-of" "rebalance-agent"
-}}
{{- $common := omit (default (dict) .Values.commonLabels) "app.kubernetes.io/component" -}}
{{- include "rebalance-agent.merged" (list (include "rebalance-agent.selectorLabels" . | fromYaml) $common $own) -}}
{{- end -}}

{{/* Labels of pods of .component, plus .more from the values, which cannot override the selector's labels. */}}
{{- define "rebalance-agent.podLabels" -}}
{{- $selecting := include "rebalance-agent.selectorLabels" .context | fromYaml -}}
{{- $_ := set $selecting "app.kubernetes.io/component" .component -}}
{{- include "rebalance-agent.merged" (list $selecting .more (include "rebalance-agent.labels" .context | fromYaml)) -}}
{{- end -}}

{{/* Merges labels or annotations. Earlier mappings override later ones. Each key is rendered once, because some YAML
parsers reject duplicates. */}}
{{- define "rebalance-agent.merged" -}}
{{- $all := dict -}}
{{- range . -}}{{- $all = merge $all (default (dict) .) -}}{{- end -}}
{{- with $all -}}{{- toYaml . -}}{{- end -}}
{{- end -}}

{{- define "rebalance-agent.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "rebalance-agent.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{/* Image of the observer and of sidecars: registry/repository:tag, or @digest. */}}
{{- define "rebalance-agent.image" -}}
{{- include "rebalance-agent.imageReference" (dict "image" .Values.image "version" .Chart.AppVersion) -}}
{{- end -}}

{{/* Reference of .image. A digest overrides the tag; an empty tag means .version. */}}
{{- define "rebalance-agent.imageReference" -}}
{{- $name := .image.repository -}}
{{- with .image.registry -}}{{- $name = printf "%s/%s" . $name -}}{{- end -}}
{{- if .image.digest -}}
{{- printf "%s@%s" $name .image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name (default .version .image.tag) -}}
{{- end -}}
{{- end -}}

{{/* A scalar as text. Helm would write numbers from 1,000,000 with an exponent. */}}
{{- define "rebalance-agent.text" -}}
{{- kindIs "string" . | ternary . (toRawJson .) -}}
{{- end -}}

{{/* Security context of containers: the profile `restricted`, and a read-only root file system. */}}
{{- define "rebalance-agent.securityContext" -}}
{{- toYaml .Values.securityContext -}}
{{- end -}}

{{/* Security context of this chart's own pods; injected sidecars use their pod's. */}}
{{- define "rebalance-agent.podSecurityContext" -}}
{{- toYaml .Values.podSecurityContext -}}
{{- end -}}
