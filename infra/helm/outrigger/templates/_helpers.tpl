{{- define "outrigger.metadata" -}}
name: {{ .name }}
labels:
  app.kubernetes.io/name: outrigger
  app.kubernetes.io/instance: {{ .root.Release.Name }}
  app.kubernetes.io/managed-by: {{ .root.Release.Service }}
  helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- if .root.Values.keep }}
annotations:
  helm.sh/resource-policy: keep
{{- end }}
{{- end }}
