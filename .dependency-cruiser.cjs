// Which way imports may point: main → compose → {http, grpc, metrics, workers} → features → modules → domain → packages.
// Types count: an import that only names a type is an arrow too.

const serviceSource = '^services/[^/]+/src/'
/** The folder of a package of the workspace, `proto` aside. */
const workspacePackage = '((services|packages)/[^/]+|infra/stack|infra/(deploy|prove)/[^/]+)'
const tests = `\\.test\\.ts$|^${workspacePackage}/test/`
/** Where a service is wired together: compose.ts, which may hand parts of it to files in compose/. */
const wiring = '(compose|index|compose/[^/]+)\\.ts$'

/** A rule inside one service: files matching `from` must not import files of the same service matching `to`. */
const within = (name, comment, from, to) => ({
  name,
  comment,
  severity: 'error',
  from: { path: `^services/([^/]+)/src/${from}`, pathNot: tests },
  to: { path: `^services/$1/src/${to}` }
})

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Two files that need each other are one file, or three.',
      severity: 'error',
      from: { pathNot: '/generated/' },
      to: { circular: true, viaOnly: { pathNot: '/generated/' } }
    },
    {
      name: 'resolvable',
      comment: 'Every import leads somewhere.',
      severity: 'error',
      from: { pathNot: '/generated/' },
      to: { couldNotResolve: true }
    },
    within('only-main-starts', 'Nothing imports main.ts.', '(?!index\\.ts$)', 'main\\.ts$'),
    within('only-main-composes', 'Wiring is done in one place.', `(?!main\\.ts$|${wiring})`, wiring),
    within(
      'features-below-transport',
      'Features do not know transports.',
      'features/',
      '(http|grpc|metrics|workers)/'
    ),
    within(
      'modules-below-features',
      'A module does what its noun does, for whoever asks.',
      'modules/',
      '(http|grpc|metrics|workers|features)/'
    ),
    within(
      'other-providers-by-themselves',
      'How other providers are asked does not depend on what is asked for; its tables are behind a port.',
      'other-providers/',
      '(http|grpc|metrics|workers|features|modules)/'
    ),
    {
      name: 'modules-without-wire-forms',
      comment: 'What goes over gRPC is written and read in grpc/.',
      severity: 'error',
      from: { path: `${serviceSource}modules/`, pathNot: tests },
      to: { path: '^proto/' }
    },
    {
      name: 'modules-by-their-face',
      comment:
        'Whoever uses a module knows its index.ts alone; and database.ts, to be given a client or a transaction.',
      severity: 'error',
      from: { path: '^services/([^/]+)/src/(?!modules/)', pathNot: tests },
      to: { path: '^services/$1/src/modules/(?!database\\.ts$|[^/]+/index\\.ts$)' }
    },
    {
      name: 'modules-by-their-faces-among-each-other',
      comment: 'Modules, too, know each other by index.ts alone.',
      severity: 'error',
      from: { path: '^services/([^/]+)/src/modules/([^/]+)/', pathNot: tests },
      to: {
        path: '^services/$1/src/modules/[^/]+/(?!index\\.ts$)',
        pathNot: '^services/$1/src/modules/$2/'
      }
    },
    {
      name: 'features-apart',
      comment:
        'A feature never imports another; what two need belongs to the domain, to a package, or to a file beside them.',
      severity: 'error',
      from: { path: '^services/([^/]+)/src/features/([^/]+)/', pathNot: tests },
      to: { path: '^services/$1/src/features/[^/]+/', pathNot: '^services/$1/src/features/$2/' }
    },
    {
      name: 'domain-by-itself',
      comment:
        'The domain is pure: it knows nothing above it, and no files, sockets, databases or frameworks.',
      severity: 'error',
      from: { path: '^services/([^/]+)/src/domain/', pathNot: tests },
      to: {
        pathNot: [
          '^services/$1/src/domain/',
          '^packages/(value-types|http-signatures)/src/',
          '^(node:)?crypto$'
        ]
      }
    },
    {
      name: 'generated-database-code-in-modules',
      comment:
        'Only modules know Prisma, and ESLint says what others may do with database.ts; the wiring makes the client.',
      severity: 'error',
      from: {
        path: serviceSource,
        pathNot: [tests, '/generated/', `${serviceSource}modules/`, `${serviceSource}${wiring}`]
      },
      to: { path: [`${serviceSource}generated/prisma`, 'node_modules/@prisma/'] }
    },
    {
      name: 'one-home-for-metrics',
      comment: 'Services count through ports; only one folder knows how metrics are published.',
      severity: 'error',
      from: { pathNot: '^packages/service-kit/(src|test)/metrics/' },
      to: { path: 'node_modules/prom-client/' }
    },
    {
      name: 'one-home-for-telemetry',
      comment: 'All else knows the API of OpenTelemetry, which does nothing by itself.',
      severity: 'error',
      from: { pathNot: ['^packages/service-kit/src/telemetry/', tests] },
      to: { path: 'node_modules/@opentelemetry/(?!api/)' }
    },
    {
      name: 'subjects-by-their-face',
      comment: 'What lies together in a package still knows its neighbours by their index.ts alone.',
      severity: 'error',
      from: { path: '^packages/([^/]+)/src/([^/]+)/', pathNot: tests },
      to: { path: '^packages/$1/src/[^/]+/(?!index\\.ts$)', pathNot: '^packages/$1/src/$2/' }
    },
    {
      name: 'subjects-apart',
      comment: 'They lie together because services need them together, not because they need each other.',
      severity: 'error',
      from: {
        path: '^packages/(service-kit|value-types)/src/(?!program/|rate-limits/|events/|webhooks/|operators/)([^/]+)/',
        pathNot: tests
      },
      to: { path: '^packages/$1/src/', pathNot: '^packages/$1/src/$2/' }
    },
    {
      name: 'what-telling-needs',
      comment: 'Events and webhooks are served over gRPC, to operators, and counted.',
      severity: 'error',
      from: { path: '^packages/service-kit/src/(events|webhooks)/', pathNot: tests },
      to: {
        path: '^packages/service-kit/src/',
        pathNot: '^packages/service-kit/src/($1|grpc|metrics|operators)/'
      }
    },
    {
      name: 'what-operators-need',
      comment: 'Operators sign in at issuers, and what they did is told over gRPC.',
      severity: 'error',
      from: { path: '^packages/service-kit/src/operators/', pathNot: tests },
      to: {
        path: '^packages/service-kit/src/',
        pathNot: '^packages/service-kit/src/(operators|issuers|grpc)/'
      }
    },
    {
      name: 'what-the-program-and-the-limits-need',
      comment: 'The program starts telemetry, and limits count what they refuse.',
      severity: 'error',
      from: { path: '^packages/service-kit/src/(program|rate-limits)/', pathNot: tests },
      to: {
        path: '^packages/service-kit/src/',
        pathNot: '^packages/service-kit/src/($1|telemetry|metrics)/'
      }
    },
    {
      name: 'services-apart',
      comment: 'A service never imports another: proto/ is the whole contract.',
      severity: 'error',
      from: { path: '^services/([^/]+)/' },
      to: { path: '^services/', pathNot: '^services/$1/' }
    },
    {
      name: 'packages-below-services',
      comment: 'Only infra and the shared test helpers know services.',
      severity: 'error',
      from: { path: '^(packages|proto)/', pathNot: '^packages/testing/' },
      to: { path: '^(services|infra)/' }
    },
    {
      name: 'infra-above-all',
      comment: 'Nothing a service runs depends on infra.',
      severity: 'error',
      from: { path: '^(services|packages|proto)/' },
      to: { path: '^infra/' }
    },
    {
      name: 'test-helpers-in-tests',
      comment: 'What is shipped does not depend on the test helpers.',
      severity: 'error',
      from: {
        path: `^(${workspacePackage}|proto)/src/`,
        pathNot: [
          tests,
          '^packages/testing/',
          '^infra/prove/(acceptance|faults|fuzz|growth|images|load|rollouts)/'
        ]
      },
      to: { path: '^packages/testing/' }
    }
  ],
  options: {
    doNotFollow: { path: 'node_modules|/generated/' },
    // Libraries lie in folders of this name, too.
    exclude: { path: '^(?!node_modules/).*/dist/|/\\.local/|^infra/prove/jest/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    combinedDependencies: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['open-payments-source', 'import', 'node', 'require', 'default', 'types'],
      extensions: ['.ts', '.tsx', '.js', '.mjs', '.cjs', '.json']
    }
  }
}
