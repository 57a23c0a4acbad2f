import type { Mutation } from '../mutation.js'

const FUNCTIONS = 'infra/prove/fuzz/test/functions.test.ts'

/** Untrusted input. */
export const INPUT_GUARDS: readonly Mutation[] = [
  {
    guard: 'trimming a header takes linear time',
    file: 'packages/http-signatures/src/components.ts',
    text: '    : withoutSpaceAround(value)\n',
    broken: "    : value.replace(/^[ \\t]+|[ \\t]+$/g, '')\n",
    test: {
      file: FUNCTIONS,
      title: 'signed requests, one thing changed: nothing breaks, and nothing is slow'
    }
  },
  {
    guard: "parameters added to a client's query stay separate from its own",
    file: 'services/auth-server/src/domain/urls.ts',
    text: "/^[^?]*\\?(?:.*&)?$/.test(address) ? ''",
    broken: "/[?&]$/.test(address) ? ''",
    test: { file: FUNCTIONS, title: 'finish URIs: nothing breaks, and nothing is slow' }
  },
  {
    guard: 'metadata is measured with its numbers written out',
    file: 'services/resource-server/src/features/request-schemas.ts',
    text: 'JSON.stringify(metadata, writtenOut)',
    broken: 'JSON.stringify(metadata)',
    test: {
      file: 'services/resource-server/src/features/request-schemas.test.ts',
      title: 'is measured with numbers such as 1e+308 written out, as it is kept'
    }
  },
  {
    guard: 'only the expected strings and lists are measured',
    file: 'packages/value-types/src/schemas/measured.ts',
    text: 'return z.string(message).pipe(schema)',
    broken: 'return schema as never',
    test: {
      file: 'packages/value-types/src/schemas/measured.test.ts',
      title: 'refuses other types, even with a length property'
    }
  }
]
