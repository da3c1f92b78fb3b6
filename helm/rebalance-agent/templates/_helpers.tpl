{{/* The chart's name, or nameOverride. */}}
{{- define "rebalance-agent.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* Name of the release's objects: release and chart, without saying the same twice. At most 63 characters, as a Service may have. */}}
{{- define "rebalance-agent.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "rebalance-agent.name" . -}}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Name and version as a label may hold them. */}}
{{- define "rebalance-agent.chart" -}}
{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "rebalance-agent.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{/* What selects pods, besides app.kubernetes.io/component: it never changes, for a Deployment's selector cannot. */}}
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

{{/* Labels of pods of .component, with .more of the values; none of these can change what selects them. */}}
{{- define "rebalance-agent.podLabels" -}}
{{- $selecting := include "rebalance-agent.selectorLabels" .context | fromYaml -}}
{{- $_ := set $selecting "app.kubernetes.io/component" .component -}}
{{- include "rebalance-agent.merged" (list $selecting .more (include "rebalance-agent.labels" .context | fromYaml)) -}}
{{- end -}}

{{/* Labels or annotations of several values, each key once, for not all readers of YAML allow two: those that come first win. */}}
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

{{/* The reference that .image means; .version where it names no tag. A digest wins over a tag. */}}
{{- define "rebalance-agent.imageReference" -}}
{{- $name := .image.repository -}}
{{- with .image.registry -}}{{- $name = printf "%s/%s" . $name -}}{{- end -}}
{{- if .image.digest -}}
{{- printf "%s@%s" $name .image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name (default .version .image.tag) -}}
{{- end -}}
{{- end -}}

{{/* A single value as text; numbers without an exponent, which Helm gives to those from a million on. */}}
{{- define "rebalance-agent.text" -}}
{{- kindIs "string" . | ternary . (toRawJson .) -}}
{{- end -}}

{{/* Of containers: what the profile `restricted` wants, and a root file system that nobody writes to. */}}
{{- define "rebalance-agent.securityContext" -}}
{{- toYaml .Values.securityContext -}}
{{- end -}}

{{/* Of pods of this chart's own. */}}
{{- define "rebalance-agent.podSecurityContext" -}}
{{- toYaml .Values.podSecurityContext -}}
{{- end -}}
