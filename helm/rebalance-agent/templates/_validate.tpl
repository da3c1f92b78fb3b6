{{/* Checks that a schema cannot express: values that depend on each other. Each message contains the remedy. */}}
{{- define "rebalance-agent.validate" -}}
{{- $sasl := .Values.kafka.sasl -}}
{{- if and $sasl.enabled (ne $sasl.mechanism "OAUTHBEARER") (or (not $sasl.username) (not $sasl.password.secretName)) -}}
{{- fail (printf "\n\nkafka.sasl.enabled: %s needs a user and a password. Set kafka.sasl.username, and kafka.sasl.password.secretName to a Secret in namespace %s that has the password under the key %q.\n" $sasl.mechanism (include "rebalance-agent.namespace" .) $sasl.password.key) -}}
{{- end -}}
{{- if and (or $sasl.username $sasl.password.secretName) (not $sasl.enabled) -}}
{{- fail "\n\nkafka.sasl.username or kafka.sasl.password.secretName is set, but kafka.sasl.enabled is false: the agent would not log in. Set kafka.sasl.enabled=true.\n" -}}
{{- end -}}
{{- $tls := .Values.kafka.tls -}}
{{- range $name, $secret := dict "ca" $tls.ca.secretName "certificate" $tls.certificate.secretName -}}
{{- if and $secret (not $tls.enabled) -}}
{{- fail (printf "\n\nkafka.tls.%s.secretName is set, but kafka.tls.enabled is false: connections would not be encrypted. Set kafka.tls.enabled=true.\n" $name) -}}
{{- end -}}
{{- end -}}
{{- range $name, $listener := dict "web" .Values.observer.web "events" .Values.observer.events -}}
{{- if and $listener.tls.clientCaKey (not $listener.tls.secretName) -}}
{{- fail (printf "\n\nobserver.%s.tls.clientCaKey is set, but observer.%s.tls.secretName is empty: clients would need no certificate. Set the Secret with the listener's own certificate.\n" $name $name) -}}
{{- end -}}
{{- end -}}
{{- $own := include "rebalance-agent.kafka.own" . | fromYaml -}}
{{- range $name, $_ := merge (dict) (default (dict) .Values.kafka.properties) (default (dict) .Values.kafka.secretProperties) -}}
{{- $meant := $name | replace "_" "." -}}
{{- if or (hasKey $own $meant) (hasKey $own (printf "%s.file" $meant)) -}}
{{- fail (printf "\n\nkafka.properties: %s is set twice: the chart also sets this property, from kafka.bootstrapServers, kafka.tls or kafka.sasl. Change the value there, or remove it there.\n" $name) -}}
{{- end -}}
{{- end -}}
{{- range $name, $value := .Values.kafka.properties -}}
{{- $plain := $name | replace "_" "." -}}
{{- $other := and (eq $plain "sasl.oauthbearer.config") (not (regexMatch (include "rebalance-agent.kafka.loginOptions" .) (toString $value))) -}}
{{- if or $other (has $plain (include "rebalance-agent.kafka.secrets" . | fromYamlArray)) -}}
{{- fail (printf "\n\nkafka.properties: %s would be readable in a ConfigMap. Put it into a Secret, and name the Secret in kafka.secretProperties: {%s: {secretName: NAME, key: KEY}}.\n" $name $name) -}}
{{- end -}}
{{- end -}}
{{- $events := .Values.observer.events -}}
{{- if and $events.enabled (not $events.token.secretName) (not (and $events.tls.secretName $events.tls.clientCaKey)) -}}
{{- fail "\n\nobserver.events.enabled: every pod could post events. Set observer.events.token.secretName (a Secret with a token of at least 16 characters), or observer.events.tls.secretName and observer.events.tls.clientCaKey for mTLS.\n" -}}
{{- end -}}
{{- $settings := default (dict) .Values.observer.settings -}}
{{- if and (gt (int .Values.observer.replicas) 1) (eq (include "rebalance-agent.observer.group" .) "") (ne (dig "state_topic" "set" $settings) "") -}}
{{- fail "\n\nobserver.settings.replicas_group is empty: replicas that do not share the groups would overwrite each other's snapshots. Remove the setting, or also set observer.settings.state_topic to \"\".\n" -}}
{{- end -}}
{{- if .Values.pipeline.enabled -}}
{{- include "rebalance-agent.pipeline.validate" . -}}
{{- end -}}
{{- end -}}

{{- define "rebalance-agent.pipeline.validate" -}}
{{- $pipeline := .Values.pipeline -}}
{{- if not .Values.kafka.bootstrapServers -}}
{{- fail "\n\npipeline.enabled: there are no events without a cluster. Set kafka.bootstrapServers.\n" -}}
{{- end -}}
{{- if and (not $pipeline.tables) (not $pipeline.persistence.enabled) -}}
{{- fail "\n\npipeline.enabled: the tables have no address. Set pipeline.tables to an address such as s3a://bucket/rebalances, or pipeline.persistence.enabled=true.\n" -}}
{{- end -}}
{{- if eq $pipeline.kind "SparkApplication" -}}
{{- if not (.Capabilities.APIVersions.Has "sparkoperator.k8s.io/v1beta2") -}}
{{- fail "\n\npipeline.kind=SparkApplication: this cluster does not have the API sparkoperator.k8s.io/v1beta2. Install the Spark operator first (for helm template, set --api-versions sparkoperator.k8s.io/v1beta2), or set pipeline.kind=CronJob.\n" -}}
{{- end -}}
{{- if not $pipeline.sparkApplication.image -}}
{{- fail "\n\npipeline.kind=SparkApplication: set pipeline.sparkApplication.image to an image of Spark in which kafka-rebalance-agent[pipeline] is installed (docs/pipeline.md).\n" -}}
{{- end -}}
{{- end -}}
{{- range $pipeline.stages -}}
{{- if and (eq .name "report") (not $pipeline.persistence.enabled) -}}
{{- fail "\n\npipeline.stages: the report stage writes a file. Set pipeline.persistence.enabled=true, or remove the stage from pipeline.stages.\n" -}}
{{- end -}}
{{- end -}}
{{- end -}}
