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

{{/*
The templates below take a dict: `root`, the context of the chart; `name`, that of a service; `service`, its values; and
`component`, `server` or `migration`.
*/}}

{{- define "open-payments.podMetadata" -}}
labels:
  app.kubernetes.io/name: {{ .name }}
  app.kubernetes.io/component: {{ .component }}
  app.kubernetes.io/part-of: open-payments
  {{- with .service.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .service.podAnnotations }}
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
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
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
image: {{ printf "%s:%s" .service.image.repository (.service.image.tag | default .root.Chart.AppVersion) | quote }}
imagePullPolicy: IfNotPresent
securityContext:
  allowPrivilegeEscalation: false
  privileged: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}
