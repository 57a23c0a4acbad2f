/** Values of what is said of pods. */
export const OF_PODS = {
  podAnnotations: { 'prometheus.io/scrape': 'true' },
  podLabels: { team: 'payments' },
  priorityClassName: 'high',
  nodeSelector: { 'kubernetes.io/arch': 'amd64' },
  affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
  tolerations: [{ key: 'payments', operator: 'Exists' }]
}
/** Values of what is added to their containers. */
export const OF_CONTAINERS = {
  extraEnv: [
    { name: 'TZ', value: 'UTC' },
    { name: 'REGION', valueFrom: { configMapKeyRef: { name: 'cluster', key: 'region' } } }
  ],
  extraVolumes: [{ name: 'scratch', emptyDir: {} }],
  extraVolumeMounts: [{ name: 'scratch', mountPath: '/scratch' }]
}
const OF_EACH = { ...OF_PODS, ...OF_CONTAINERS }

/** Settings of the auth server with which pages prove whose consent it is. The key is a place for one. */
export const PROVING = {
  CONSENT_PROOF: 'required',
  CONSENT_ISSUERS: 'consent-page@https://login.wallet.example',
  OWNERSHIP_PUBLIC_KEYS: '{"keys":[]}'
}
/** The pages of account holders, and the console. */
export const PAGES = { web: { enabled: true }, authServer: { settings: PROVING } }
export const CONSOLE = { console: { enabled: true } }

/** Values for every pod that there can be. */
export const FOR_PODS = {
  imagePullSecrets: [{ name: 'registry' }],
  authServer: { ...OF_EACH, settings: PROVING },
  resourceServer: OF_EACH,
  web: { enabled: true, ...OF_EACH },
  console: { enabled: true, ...OF_EACH },
  audit: { enabled: true, ...OF_EACH },
  backup: { enabled: true, ...OF_EACH }
}

export const PEERS = { host: 'ilp.wallet.example' }

const POLICIES = [
  'auth-server',
  'auth-server-test',
  'open-payments-default-deny',
  'open-payments-dns',
  'open-payments-internet',
  'open-payments-metrics',
  'open-payments-postgresql',
  'open-payments-public',
  'open-payments-redis',
  'open-payments-test',
  'resource-server',
  'resource-server-peers',
  'resource-server-test'
]
const OF_LISTENERS = ['auth-server', 'resource-server', 'resource-server-peers']

/** Of the pages of account holders, or of the console. */
const objectsOfPages = (name: 'web' | 'console'): string[] => [
  `Certificate ${name}-grpc`,
  `Deployment ${name}`,
  `HorizontalPodAutoscaler ${name}`,
  `NetworkPolicy auth-server-${name}`,
  `NetworkPolicy resource-server-${name}`,
  `NetworkPolicy ${name}`,
  `NetworkPolicy ${name}-test`,
  `PodDisruptionBudget ${name}`,
  `Service ${name}`,
  `Service ${name}-metrics`,
  `ServiceAccount ${name}`
]
const OF_ISSUER = 'NetworkPolicy open-payments-issuer'
const OF_PAGES = [...objectsOfPages('web'), OF_ISSUER]
const OF_CONSOLE = [...objectsOfPages('console'), OF_ISSUER]

/** What can be left out, and the objects that belong to each. */
export const LEFT_OUT: readonly [string, unknown, readonly string[]][] = [
  [
    'its own authority',
    { certificates: { createAuthority: false } },
    [
      'Certificate open-payments-grpc-authority',
      'Issuer open-payments-grpc',
      'Issuer open-payments-self-signed'
    ]
  ],
  ['the ServiceMonitor', { serviceMonitor: { enabled: false } }, ['ServiceMonitor open-payments']],
  ['the alerts', { prometheusRule: { enabled: false } }, ['PrometheusRule open-payments']],
  [
    'the network policies',
    { networkPolicies: { enabled: false } },
    POLICIES.map((name) => `NetworkPolicy ${name}`)
  ]
]

/** What can be added, and the objects that belong to each. */
export const ADDED: readonly [string, unknown, readonly string[]][] = [
  [
    'an Ingress',
    { ingress: { enabled: true, className: 'nginx', annotations: { a: 'b' } }, listeners: { peers: PEERS } },
    OF_LISTENERS.map((name) => `Ingress ${name}`)
  ],
  [
    'an Ingress, but none for peers',
    { ingress: { enabled: true } },
    ['Ingress auth-server', 'Ingress resource-server']
  ],
  [
    'a Gateway of its own',
    { gateway: { enabled: true, className: 'envoy' }, listeners: { peers: PEERS } },
    ['Gateway open-payments', ...OF_LISTENERS.map((name) => `HTTPRoute ${name}`)]
  ],
  [
    'routes of a Gateway of others',
    {
      gateway: {
        enabled: true,
        parentRefs: [{ name: 'public', namespace: 'gateways', sectionName: 'https' }]
      }
    },
    ['HTTPRoute auth-server', 'HTTPRoute resource-server']
  ],
  [
    'the dashboards',
    { dashboards: { enabled: true, annotations: { grafana_folder: 'Payments' } } },
    ['auth-server', 'overview', 'resource-server'].map((name) => `ConfigMap open-payments-dashboard-${name}`)
  ],
  [
    'the audit',
    { audit: { enabled: true } },
    ['CronJob open-payments-audit', 'NetworkPolicy open-payments-audit']
  ],
  ['the pages', PAGES, OF_PAGES],
  ['the console', CONSOLE, OF_CONSOLE],
  ['the pages and the console', { ...PAGES, ...CONSOLE }, [...OF_PAGES, ...objectsOfPages('console')]],
  [
    'the pages and the console, and an Ingress for account holders alone',
    { ...PAGES, ...CONSOLE, ingress: { enabled: true } },
    [
      ...OF_PAGES,
      ...objectsOfPages('console'),
      'Ingress auth-server',
      'Ingress resource-server',
      'Ingress web'
    ]
  ],
  ['the backup', { backup: { enabled: true } }, ['CronJob open-payments-backup']],
  [
    'more that is let out',
    {
      networkPolicies: {
        extraEgress: [
          {
            to: [{ podSelector: { matchLabels: { app: 'collector' } } }],
            ports: [{ protocol: 'TCP', port: 4318 }]
          }
        ]
      }
    },
    ['NetworkPolicy open-payments-extra']
  ]
]

/** Values that add no objects. */
export const CHANGED: readonly [string, unknown][] = [
  ['everything for pods', FOR_PODS],
  ['authorities of a ConfigMap', { authorities: { configMap: 'authorities' } }],
  ['authorities of a Secret', { authorities: { secret: 'authorities', key: 'all.pem' } }],
  [
    'users that the platform chooses',
    { podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null } }
  ],
  [
    'common labels and annotations',
    { commonLabels: { team: 'payments' }, commonAnnotations: { owner: 'payments' } }
  ],
  ['a ServiceAccount with a role', { authServer: { serviceAccount: { annotations: { role: 'payments' } } } }],
  [
    'labels and intervals for Prometheus',
    {
      serviceMonitor: { labels: { release: 'prometheus' }, interval: '30s', scrapeTimeout: '20s' },
      prometheusRule: {
        labels: { release: 'prometheus' },
        interval: '1m',
        runbookUrl: 'https://docs.example/run'
      }
    }
  ],
  [
    'other metrics to scale by',
    {
      authServer: {
        autoscaling: {
          extraMetrics: [
            {
              type: 'Pods',
              pods: { metric: { name: 'requests' }, target: { type: 'AverageValue', averageValue: '100' } }
            }
          ]
        }
      }
    }
  ]
]
