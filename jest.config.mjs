import { compilerOptions } from './infra/stack/scripts/compile.mjs'
import { PROOFS } from './infra/stack/scripts/proofs.mjs'

/** @type {import('jest').Config} */
export default {
  roots: ['services', 'packages', 'proto', 'infra'].map((folder) => `<rootDir>/${folder}`),
  testMatch: ['**/*.test.ts'],
  testPathIgnorePatterns: [
    '/node_modules/',
    '<rootDir>/.*/dist/',
    '<rootDir>/(.*/)?\\.local/',
    // Trials that only a long run makes: see infra/stack/scripts/test.mjs.
    ...(process.env.LONG_RUN === undefined ? ['\\.long\\.test\\.ts$'] : []),
    ...(process.env.WITHOUT_PROOFS === undefined ? [] : PROOFS)
  ],
  testEnvironment: '<rootDir>/infra/prove/jest/contract-environment.mjs',
  // Workspace packages resolve to their sources, so that tests need no build. Jest adds import or require itself.
  testEnvironmentOptions: { customExportConditions: ['open-payments-source', 'node', 'node-addons'] },
  extensionsToTreatAsEsm: ['.ts', '.tsx'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.tsx?$': ['@swc/jest', { ...compilerOptions, sourceMaps: 'inline' }]
  },
  globalSetup: '<rootDir>/infra/prove/jest/global-setup.mjs',
  globalTeardown: '<rootDir>/infra/prove/jest/global-teardown.mjs',
  reporters: ['default', '<rootDir>/infra/prove/jest/summary-reporter.mjs'],
  // Ends tests that hang. No test is about time: on a busy machine one may take ten times as long.
  testTimeout: 120_000,
  maxWorkers: 2,
  // What modules of earlier tests leave is not collected: a worker grew to gigabytes, and stood still for seconds at a time.
  workerIdleMemoryLimit: '1GB'
}
