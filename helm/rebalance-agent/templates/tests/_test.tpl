{{/*
A test: a Job whose pod has the observer's settings but does not serve. `helm uninstall` does not remove it: a passed
Job is deleted at once, a failed one after an hour, which leaves time to read its log.
*/}}
{{- define "rebalance-agent.test" -}}
apiVersion: batch/v1
kind: Job
metadata:
  # Also a label of the pod, so at most 63 characters.
  name: {{ include "rebalance-agent.fullname" .context | trunc 49 | trimSuffix "-" }}-test-{{ .name }}
  namespace: {{ include "rebalance-agent.namespace" .context | quote }}
  labels:
    {{- include "rebalance-agent.labels" .context | nindent 4 }}
    app.kubernetes.io/component: test
  annotations:
    helm.sh/hook: test
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
    {{- with .context.Values.commonAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  backoffLimit: 0
  # Less than Helm's own timeout, whose message would not contain the reason.
  activeDeadlineSeconds: 240
  ttlSecondsAfterFinished: 3600
  template:
    metadata:
      labels:
        {{- include "rebalance-agent.podLabels" (dict "context" .context "component" "test" "more" (dict)) | nindent 8 }}
      {{- with .context.Values.commonAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      {{- include "rebalance-agent.test.pod" .context | nindent 6 }}
      containers:
        - name: {{ .name }}
          {{- include "rebalance-agent.test.container" .context | nindent 10 }}
          {{- .program | nindent 10 }}
{{- end -}}

{{- define "rebalance-agent.test.pod" -}}
restartPolicy: Never
serviceAccountName: {{ include "rebalance-agent.serviceAccountName" . | quote }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- include "rebalance-agent.podSecurityContext" . | nindent 2 }}
{{- with .Values.observer.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.observer.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - {{ include "rebalance-agent.settings.volume" . | nindent 4 | trim }}
  {{- with .Values.observer.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "rebalance-agent.test.container" -}}
image: {{ include "rebalance-agent.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
terminationMessagePolicy: FallbackToLogsOnError
{{- with .Values.tests.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.observer.extraEnv }}
env:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.observer.extraEnvFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- include "rebalance-agent.securityContext" . | nindent 2 }}
volumeMounts:
  - name: settings
    mountPath: /etc/rebalance-agent
    readOnly: true
  {{- with .Values.observer.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}
