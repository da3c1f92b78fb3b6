{{/* Pod and container of a test: those of the observer, without what makes it serve. */}}
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
