import eslint from '@eslint/js'
import typescript from 'typescript-eslint'

const tests = [
  '**/*.test.ts',
  '**/test/**/*.ts',
  'packages/testing/**/*.ts',
  'infra/prove/acceptance/**/*.ts'
]

/** Where requests that go out are guarded: against addresses of this network, redirects, and hosts that do not answer. */
const outgoingHttp = 'Requests go out through packages/http-client, which guards them.'

/** JavaScript's own: TypeScript's is a promise that tests and casts can break. */
const privateMembers = [
  'PropertyDefinition[accessibility="private"]',
  'MethodDefinition[accessibility="private"][kind!="constructor"]',
  'TSParameterProperty[accessibility="private"]'
].map((selector) => ({ selector, message: 'Private members are named `#name`.' }))

/** Whoever switches a rule off says why, after two dashes. */
const explainDisabling = {
  meta: {
    type: 'suggestion',
    schema: [],
    messages: { explain: 'Say why the rule is switched off: `-- because …`.' }
  },
  create: (context) => ({
    Program() {
      for (const comment of context.sourceCode.getAllComments()) {
        const directive = /^\s*eslint-(disable\S*|enable)/.exec(comment.value)
        if (directive && directive[1] !== 'enable' && !/\s--\s+\S/.test(comment.value)) {
          context.report({ loc: comment.loc, messageId: 'explain' })
        }
      }
    }
  })
}

/** Whether a type is declared in certain files. */
const isDeclaredIn = (type, pattern) =>
  type.getSymbol()?.declarations?.some((node) => pattern.test(node.getSourceFile().fileName)) ?? false

/**
 * How a service reaches its database. Modules send statements. Use cases in features/ may compose the fragments of modules to
 * one statement, by `Prisma.sql`. All others only pass a client or a transaction on. Nobody sends anything over the pool.
 */
const throughModules = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      elsewhere: 'Models are read and written by modules.',
      hidden: 'A model is named where it is called, `on.quote.create(…)`: a test reads who writes a table.',
      raw: 'Statements are sent by modules, and composed by use cases in features/.',
      unsafe: 'A statement is composed by `Prisma.sql`.',
      pool: 'Statements go through the PrismaClient.'
    }
  },
  create(context) {
    const path = context.filename.replaceAll('\\', '/')
    const services = context.sourceCode.parserServices
    const isModel = (node) => {
      const type = services.getTypeAtLocation(node)
      return /Delegate$/.test(type.getSymbol()?.name ?? '') && isDeclaredIn(type, /\/generated\/prisma\//)
    }
    const isPool = (node) => isDeclaredIn(services.getTypeAtLocation(node), /\/@types\/pg(-pool)?\//)
    const inModules = path.includes('/src/modules/')
    return {
      MemberExpression(node) {
        const name = node.property.name ?? node.property.value
        if (/^\$(query|execute)Raw/.test(name)) {
          if (!inModules && !path.includes('/src/features/')) context.report({ node, messageId: 'raw' })
          // Its texts are constant, and sent in a snapshot that only reads.
          const ofAudit = path.endsWith('/audit-money/ledger-checks.ts')
          if (name.endsWith('Unsafe') && !ofAudit) context.report({ node, messageId: 'unsafe' })
        } else if (/^(query|connect)$/.test(name)) {
          if (isPool(node.object)) context.report({ node, messageId: 'pool' })
        } else if (isModel(node)) {
          if (!inModules) context.report({ node, messageId: 'elsewhere' })
          else if (node.computed || node.parent.type !== 'MemberExpression' || node.parent.object !== node)
            context.report({ node, messageId: 'hidden' })
        }
      },
      'ObjectPattern > Property'(node) {
        if (isModel(node.value)) context.report({ node, messageId: inModules ? 'hidden' : 'elsewhere' })
      }
    }
  }
}

/** Where pools are made, databases created and migrated, and databases run for tests. */
const knowsPg = [
  'packages/database/src/{adapter,create-database,limited-client,migrate,pool,primary,run-migration,server-state}.ts',
  'packages/local-services/src/{pgbouncer,postgres}.ts',
  'packages/testing/src/{record-statements,test-database}.ts',
  'packages/**/*.test.ts',
  'packages/*/test/**/*.ts'
]

const withoutPg = {
  name: 'pg',
  message:
    'Statements go through the PrismaClient; pools are made by packages/database, test databases by packages/testing.'
}

export default typescript.config(
  { ignores: ['**/node_modules/', '**/dist/', '**/generated/', '**/.local/', '**/.turbo/', '**/coverage/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  eslint.configs.recommended,
  {
    plugins: {
      house: { rules: { 'explain-disabling': explainDisabling, 'through-modules': throughModules } }
    },
    rules: { 'house/explain-disabling': 'error', eqeqeq: 'error', 'no-console': 'off' }
  },
  {
    files: ['**/*.{js,mjs,cjs}'],
    languageOptions: {
      globals: Object.fromEntries(
        [
          'process',
          'console',
          'URL',
          'Buffer',
          'setTimeout',
          'clearTimeout',
          'setInterval',
          'clearInterval',
          'fetch'
        ]
          .concat([
            'AbortSignal',
            'AbortController',
            'setImmediate',
            'performance',
            'structuredClone',
            'module'
          ])
          .map((name) => [name, 'readonly'])
      )
    }
  },
  { files: ['**/*.config.ts'], extends: [typescript.configs.strict] },
  {
    files: ['**/*.{ts,tsx}'],
    ignores: ['**/*.config.ts'],
    extends: [typescript.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: {
        projectService: true,
        tsconfigRootDir: import.meta.dirname
      }
    },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true }
      ],
      '@typescript-eslint/consistent-type-imports': 'error',
      // Numbers and bigints print well; what must not slip into a string are objects and undefined.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', caughtErrors: 'none' }],
      // Implementing an asynchronous port with something immediate is no mistake.
      '@typescript-eslint/require-await': 'off',
      'no-restricted-syntax': ['error', ...privateMembers],
      'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }]
    }
  },
  {
    files: ['services/*/src/**/*.{ts,tsx}', 'packages/*/src/**/*.ts'],
    ignores: [...tests, 'packages/operator-cli/**'],
    rules: { 'no-console': 'error' }
  },
  {
    files: ['services/*/src/**/*.{ts,tsx}', 'packages/*/src/**/*.ts'],
    ignores: tests,
    rules: {
      'no-restricted-syntax': [
        'error',
        ...privateMembers,
        {
          selector:
            'AssignmentExpression[left.type="MemberExpression"] > :matches(ArrowFunctionExpression, FunctionExpression).right',
          message:
            'V8 places a function that is written as the value of a property among old objects, where all that it reaches is kept until those are collected. Give it a name first.'
        }
      ]
    }
  },
  {
    files: ['services/**/*.{ts,tsx}', 'packages/**/*.ts'],
    ignores: knowsPg,
    rules: { '@typescript-eslint/no-restricted-imports': ['error', { paths: [withoutPg] }] }
  },
  {
    files: ['services/*/src/**/*.ts'],
    ignores: tests,
    rules: { 'house/through-modules': 'error' }
  },
  {
    files: ['services/*/src/{compose,domain,grpc,http,metrics,workers}/**/*.ts', 'services/*/src/*.ts'],
    ignores: tests,
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          paths: [withoutPg],
          patterns: [
            {
              group: ['**/modules/database.js'],
              allowTypeImports: true,
              message: 'Statements are sent by modules, and composed by use cases in features/.'
            }
          ]
        }
      ]
    }
  },
  {
    // What tests receive is held to the published descriptions, so that no test can forget to.
    files: [
      'services/**/*.test.ts',
      'services/*/test/**/*.ts',
      'infra/prove/acceptance/**/*.ts',
      'infra/prove/faults/**/*.ts'
    ],
    rules: {
      'no-restricted-globals': [
        'error',
        { name: 'fetch', message: 'Use `send` of packages/testing, which holds the answer to the contract.' }
      ]
    }
  },
  {
    files: ['services/*/src/**/*.{ts,tsx}', 'packages/*/src/**/*.ts'],
    // gRPC, whose addresses are the operator's, runs over HTTP/2.
    ignores: [...tests, 'packages/http-client/**', 'packages/grpc-transport/**'],
    rules: {
      'no-restricted-globals': ['error', { name: 'fetch', message: outgoingHttp }],
      'no-restricted-properties': [
        'error',
        { object: 'globalThis', property: 'fetch', message: outgoingHttp }
      ],
      'no-restricted-imports': [
        'error',
        {
          paths: [
            ...['node:http', 'http'].map((name) => ({
              name,
              importNames: ['default', 'request', 'get', 'Agent', 'ClientRequest'],
              message: outgoingHttp
            })),
            ...['undici', 'node:https', 'https', 'node:http2', 'http2'].map((name) => ({
              name,
              message: outgoingHttp
            }))
          ]
        }
      ]
    }
  },
  {
    // Tests read bodies of any shape and describe long stories.
    files: tests,
    rules: {
      'max-lines-per-function': 'off',
      'max-lines': 'off',
      '@typescript-eslint/no-misused-spread': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unnecessary-condition': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/only-throw-error': 'off',
      '@typescript-eslint/unbound-method': 'off'
    }
  }
)
