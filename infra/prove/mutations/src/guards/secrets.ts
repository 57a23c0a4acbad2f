import type { Mutation } from '../mutation.js'

const DESCRIBE_ERROR = 'packages/runtime/src/describe-error.ts'
const LOGGER_TEST = 'packages/runtime/src/logger.test.ts'
const CONTRACT = 'packages/testing/src/contract/contract.ts'
const CONTRACT_TEST = 'packages/testing/test/contract/contract.test.ts'

/** No secrets in logs, and nothing undescribed in answers. */
export const SECRET_GUARDS: readonly Mutation[] = [
  {
    guard: 'logged errors omit attached rows, commands and URLs',
    file: 'packages/runtime/src/logger.ts',
    text: 'serializers: { err: describeError, error: describeError },',
    broken: '',
    test: {
      file: LOGGER_TEST,
      title: 'logs an error with its stack, and of its properties only codes and names'
    }
  },
  {
    guard: 'logs contain no database or Redis password',
    file: DESCRIBE_ERROR,
    text: ".replace(CREDENTIALS, '//[redacted]@')",
    broken: '',
    test: {
      file: LOGGER_TEST,
      title:
        'strikes secrets out of the message of an error: connect failed: postgresql://user:canary@host/db'
    }
  },
  {
    guard: 'a secret given as the path of its file is not printed',
    file: 'packages/runtime/src/configuration/load.ts',
    text: "(error as NodeJS.ErrnoException).code ?? 'unknown reason'",
    broken: 'String((error as Error).message)',
    test: {
      file: 'packages/runtime/src/configuration/load.test.ts',
      title: 'does not print a secret that was given as the path of its file'
    }
  },
  {
    guard: 'an undescribed member of an answer is detected, even where the schema is open',
    file: CONTRACT,
    text: '...undescribedMembers(schema, decided).map((member) => `${member} is not described`)',
    broken: '',
    test: {
      file: CONTRACT_TEST,
      title: 'is violated by an undescribed member at any depth, even in an open schema'
    }
  },
  {
    guard: 'a missing described header is detected',
    file: CONTRACT,
    text: '...headerViolations(exchange, described),',
    broken: '',
    test: { file: CONTRACT_TEST, title: 'is violated by a missing described header' }
  }
]
