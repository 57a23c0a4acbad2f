{{/*
Labels of every object. What selects pods and what alerts know are the names of the services, not those of a release: there is
one installation in a namespace.
*/}}
{{- define "open-payments.labels" -}}
app.kubernetes.io/part-of: open-payments
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* What selects the servers of a service, and not its migration. Takes the name of the service. */}}
{{- define "open-payments.selectorLabels" -}}
app.kubernetes.io/name: {{ . }}
app.kubernetes.io/component: server
{{- end }}

{{/* What selects the pods of the pages of account holders, or of the console. Takes the same dict as what is said of pods, below. */}}
{{- define "open-payments.pagesLabels" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* The components whose pods serve: those of the services, the pages of account holders, and the console. */}}
{{- define "open-payments.listening" -}}
server{{ if .Values.web.enabled }}, pages{{ end }}{{ if .Values.console.enabled }}, console{{ end }}
{{- end }}

{{/* Whether the auth server takes the word of a page for whose consent it is. Takes its values. */}}
{{- define "open-payments.believesPages" -}}
{{- $proof := (.settings | default dict).CONSENT_PROOF }}
{{- range .extraEnv }}{{ if eq .name "CONSENT_PROOF" }}{{ $proof = .value }}{{ end }}{{ end }}
{{- eq ($proof | default "") "none" | ternary "true" "" }}
{{- end }}

{{/*
Whether people operate a service, who sign in elsewhere. Then its machines only read, as the audit does: whoever can use the certificate must
not act beside themselves. Takes the values of the service.
*/}}
{{- define "open-payments.hasOperators" -}}
{{- $found := hasKey (.settings | default dict) "OPERATOR_ISSUERS" }}
{{- range .extraEnv }}{{ if eq .name "OPERATOR_ISSUERS" }}{{ $found = true }}{{ end }}{{ end }}
{{- $found | ternary "true" "" }}
{{- end }}

{{/*
The metadata of every object. Takes a dict: `root`, the context of the chart; `name`, that of the object; and, where it has some
of its own, `labels` and `annotations`, which go before the common ones.
*/}}
{{- define "open-payments.metadata" -}}
name: {{ .name }}
namespace: {{ .root.Release.Namespace | quote }}
labels:
  {{- $usual := include "open-payments.labels" .root | fromYaml }}
  {{- merge (dict) (.labels | default dict) $usual .root.Values.commonLabels | toYaml | nindent 2 }}
{{- with merge (dict) (.annotations | default dict) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/*
The metadata of the objects of the pages, which all have `part` as a label: `web` or `console`. Takes the same, without `labels`;
`component` is another one.
*/}}
{{- define "open-payments.pagesMetadata" -}}
{{- $labels := dict "app.kubernetes.io/name" .part }}
{{- with .component }}{{ $_ := set $labels "app.kubernetes.io/component" . }}{{ end }}
{{- include "open-payments.metadata" (dict "root" .root "name" .name "labels" $labels "annotations" .annotations) }}
{{- end }}

{{/*
The templates below take a dict: `root`, the context of the chart; `name`, that of a service or of another kind of pod;
`service`, its values; `component`, `server`, `pages`, `console`, `migration`, `audit`, `backup` or `test`; and `labels`, further ones of its pods.
*/}}

{{- define "open-payments.podMetadata" -}}
labels:
  {{- $own := dict "app.kubernetes.io/name" .name "app.kubernetes.io/component" .component "app.kubernetes.io/part-of" "open-payments" }}
  {{- merge $own (.labels | default dict) .service.podLabels .root.Values.commonLabels | toYaml | nindent 2 }}
{{- with merge (dict) .service.podAnnotations .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What holds for every pod: nobody's rights, no way to the Kubernetes API, and where it may run. */}}
{{- define "open-payments.podSpec" -}}
automountServiceAccountToken: false
# Else Kubernetes adds variables such as AUTH_SERVER_PORT, which look like settings.
enableServiceLinks: false
securityContext:
  {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .service.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .service.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .service.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .service.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What holds for every container: an image with a version, and a file system that cannot be written to. */}}
{{- define "open-payments.container" -}}
name: service
{{- with .service.image }}
{{- $version := .tag | default $.root.Chart.AppVersion }}
image: {{ printf "%s:%s%s" .repository $version (empty .digest | ternary "" (printf "@%s" .digest)) | quote }}
{{- end }}
imagePullPolicy: IfNotPresent
securityContext:
  {{- toYaml .root.Values.containerSecurityContext | nindent 2 }}
{{- end }}

{{/* Whether there are authorities of your own. */}}
{{- define "open-payments.hasAuthorities" -}}
{{- with .root.Values.authorities }}{{ or .configMap .secret }}{{ end }}
{{- end }}

{{/* Variables that every container has. */}}
{{- define "open-payments.env" -}}
{{- if and (include "open-payments.hasAuthorities" .) (ne .component "backup") }}
- name: NODE_EXTRA_CA_CERTS
  value: /run/authorities/{{ .root.Values.authorities.key }}
{{- end }}
{{- with .service.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "open-payments.volumeMounts" -}}
{{- if include "open-payments.hasAuthorities" . }}
- name: authorities
  mountPath: /run/authorities
  readOnly: true
{{- end }}
{{- with .service.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "open-payments.volumes" -}}
{{- if include "open-payments.hasAuthorities" . }}
- name: authorities
  {{- with .root.Values.authorities.configMap }}
  configMap:
    name: {{ . | quote }}
  {{- end }}
  {{- with .root.Values.authorities.secret }}
  secret:
    secretName: {{ . | quote }}
    defaultMode: 288 # 0440
  {{- end }}
    # Nothing else of it: the secret of an authority has its key, too.
    items:
      - key: {{ .root.Values.authorities.key | quote }}
        path: {{ .root.Values.authorities.key | quote }}
{{- end }}
{{- with .service.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Refuses what the schema of the values cannot. Takes a dict: `root`, the context of the chart; `key`, that of a service; `service`, its values. */}}
{{- define "open-payments.refusals" -}}
{{- $key := .key }}
{{- with .service.autoscaling }}
{{- if gt (int .minReplicas) (int .maxReplicas) }}
{{- fail (printf "%s.autoscaling: minReplicas (%v) is above maxReplicas (%v)" $key .minReplicas .maxReplicas) }}
{{- end }}
{{- end }}
{{- range .service.extraEnv }}
{{- if hasKey ($.service.settings | default dict) .name }}
{{- fail (printf "%s.extraEnv: %s is among the settings, too" $key .name) }}
{{- end }}
{{- if and (eq .name "NODE_EXTRA_CA_CERTS") (include "open-payments.hasAuthorities" $) }}
{{- fail (printf "%s.extraEnv: NODE_EXTRA_CA_CERTS is set by `authorities`, too" $key) }}
{{- end }}
{{- end }}
{{- end }}

{{/*
The listeners that clients and peers reach from outside, as YAML: of each its name, `service`, `port` (of that Service), `host`,
`path` (that the service does not know of), and `tlsSecret`.
*/}}
{{- define "open-payments.listeners" -}}
{{- $places := dict }}
{{- range $name, $service := dict "auth-server" .Values.authServer "resource-server" .Values.resourceServer }}
{{- $url := urlParse (($service.settings | default dict).PUBLIC_URL | default "") }}
{{- $place := printf "%s%s" $url.hostname (trimSuffix "/" $url.path) }}
{{- if hasKey $places $place }}
{{- fail (printf "authServer and resourceServer have the same PUBLIC_URL, %s: nothing tells their requests apart" $place) }}
{{- end }}
{{- $_ := set $places $place true }}
{{ $name }}:
  port: 80
  host: {{ $url.hostname | quote }}
  path: {{ $url.path | trimSuffix "/" | quote }}
  tlsSecret: {{ eq $name "auth-server" | ternary $.Values.listeners.authServer.tlsSecret $.Values.listeners.resourceServer.tlsSecret | quote }}
{{- end }}
{{- if .Values.web.enabled }}
{{- $host := (urlParse ((.Values.web.settings | default dict).PUBLIC_URL | default "")).hostname }}
{{- if hasKey $places $host }}
{{- fail (printf "web and a service have the same PUBLIC_URL, %s: nothing tells their requests apart" $host) }}
{{- end }}
{{- $_ := set $places $host true }}
web:
  port: 80
  host: {{ $host | quote }}
  path: ''
  tlsSecret: {{ .Values.listeners.web.tlsSecret | quote }}
{{- end }}
{{- with .Values.listeners.peers }}
{{- if hasKey $places .host }}
{{- fail (printf "listeners.peers.host: %s is that of a service. Peers need a name of their own" .host) }}
{{- end }}
{{- if .host }}
resource-server-peers:
  port: 80
  host: {{ .host | quote }}
  path: ''
  tlsSecret: {{ .tlsSecret | quote }}
{{- end }}
{{- end }}
{{- end }}
