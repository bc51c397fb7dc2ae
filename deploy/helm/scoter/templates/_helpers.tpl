{{- define "scoter.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "scoter.secret" -}}
{{ .Values.secrets.existing | default .Release.Name }}
{{- end }}

{{/* Labels that select the pods of a role; called with a list of the root and the role. */}}
{{- define "scoter.selector" -}}
app: {{ (index . 0).Release.Name }}
role: {{ index . 1 }}
{{- end }}

{{/* The pod template of a role; called with a list of the root and the role. */}}
{{- define "scoter.pod" -}}
{{- $root := index . 0 -}}
{{- $role := index . 1 -}}
{{- $values := index $root.Values $role -}}
metadata:
  labels:
    {{- include "scoter.selector" . | nindent 4 }}
    app.kubernetes.io/name: scoter
    app.kubernetes.io/instance: {{ $root.Release.Name }}
    app.kubernetes.io/component: {{ $role }}
    app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
  annotations:
    # Pods are replaced when settings change.
    checksum/settings: {{ include (print $root.Template.BasePath "/configmap.yaml") $root | sha256sum }}
    {{- with $values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  terminationGracePeriodSeconds: 60
  automountServiceAccountToken: false
  enableServiceLinks: false # its variables would be taken for settings
  {{- with $root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "scoter.selector" . | nindent 10 }}
  {{- with $values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: {{ $role }}
      image: {{ include "scoter.image" $root | quote }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      {{- if eq $role "api" }}
      args: [serve, --role, api, --dir, /data, --host, 0.0.0.0, --port, "8008"]
      {{- else }}
      args: [serve, --role, {{ $role }}, --dir, /data]
      {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      envFrom:
        - configMapRef: {name: {{ $root.Release.Name }}}
      {{- if eq $role "api" }}
      ports:
        - {name: http, containerPort: 8008}
      startupProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 5
        failureThreshold: 60
      readinessProbe:
        httpGet: {path: /readyz, port: http}
      livenessProbe:
        httpGet: {path: /healthz, port: http}
        timeoutSeconds: 5
      {{- else }}
      # The supervisor restarts processes that die or hang. So only a role that is not ready for ten minutes is killed.
      readinessProbe:
        exec: {command: [sh, -c, 'test -n "$(find /data/run/ready -mmin -1)"']}
      livenessProbe:
        exec: {command: [sh, -c, 'test -n "$(find /data/run/ready -mmin -1)"']}
        periodSeconds: 30
        failureThreshold: 20
      {{- end }}
      resources:
        {{- toYaml $values.resources | nindent 8 }}
      volumeMounts:
        - {name: data, mountPath: /data}
        - {name: tmp, mountPath: /tmp}
        - {name: secrets, mountPath: /secrets, readOnly: true}
        {{- if eq $role "api" }}
        - {name: secrets, mountPath: /data/webhook.secret, subPath: webhook-secret, readOnly: true}
        {{- end }}
  volumes:
    {{- if ne $role "pipeline" }}
    - name: data
      emptyDir: {}
    {{- end }}
    - name: tmp
      emptyDir: {sizeLimit: 1Gi}
    - name: secrets
      secret:
        secretName: {{ include "scoter.secret" $root }}
        defaultMode: 0440
        items:
          - {key: kafka-password, path: kafka-password}
          {{- if ne $role "worker" }}
          - {key: cassandra-password, path: cassandra-password}
          {{- end }}
          {{- if eq $role "api" }}
          - {key: webhook-secret, path: webhook-secret}
          {{- end }}
{{- end }}
