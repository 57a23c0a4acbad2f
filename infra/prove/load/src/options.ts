import { Command, InvalidArgumentError } from 'commander'
import { CALLS } from './calls.js'

/** Options of a run of the bench. */
export interface BenchOptions {
  /** Names of calls; `completed` is one of them. */
  readonly calls: readonly string[]
  readonly concurrency: readonly number[]
  /** How long each call is measured at each concurrency. */
  readonly seconds: number
  /** Numbers of payments and grants in the databases: one stack for each. */
  readonly rows: readonly number[]
  readonly replicas: number
  readonly rateLimits: boolean
  readonly short: boolean
  readonly profile: boolean
  /** Number of requests of the memory run; 0: none. */
  readonly memory: number
  /** Number of clients of the waiting run; 0: none. */
  readonly waiting: number
  /** Number of payments to another installation, at each concurrency; 0: none. */
  readonly across: number
  /** File that the plot is written to (SVG). */
  readonly plot?: string | undefined
  /** Markdown file whose marked part is replaced by the results. */
  readonly document?: string | undefined
}

const ALL_CALLS = [...CALLS.map(({ name }) => name), 'completed']

/** Reads the command line. Ends the process for a wrong one, and for `--help`. */
export function readOptions(parameters: readonly string[]): BenchOptions {
  const command = new Command('npm run bench --')
    .description('Measures how fast the services are, beside the least that each call needs on this machine.')
    .option('--calls <names>', `of ${ALL_CALLS.join(', ')}; part of a name is enough`, readCalls, ALL_CALLS)
    .option('--concurrency <numbers>', 'requests under way at a time', wholeNumbers, [1, 8, 32])
    .option('--seconds <number>', 'how long each call is measured', Number, 5)
    .option('--rows <numbers>', 'payments and grants in the databases: all again for each', wholeNumbers, [0])
    .option('--replicas <number>', 'of each service', Number, 1)
    .option('--no-rate-limits', 'count no requests; else they are counted, with limits that nothing reaches')
    .option('--short', 'the short form that only fails when a share of a floor is far too low', false)
    .option('--profile', 'writes CPU profiles of both services, and prints SQL statements by time', false)
    .option('--memory <requests>', 'looks at heaps over so many requests, and at nothing else', Number, 0)
    .option(
      '--waiting <clients>',
      'lets so many clients wait for payments, and measures nothing else',
      Number,
      0
    )
    .option(
      '--across <payments>',
      'pays from one installation to another, and measures nothing else',
      Number,
      0
    )
    .option('--plot <file>', 'draws throughput and floors (SVG)')
    .option('--document <file>', 'puts the measurements into a document, between its marks')
  return command.parse([...parameters], { from: 'user' }).opts<BenchOptions>()
}

function readCalls(text: string): string[] {
  return text.split(',').flatMap((part) => {
    const exact = ALL_CALLS.filter((name) => name === part || `${name}s` === part)
    const found = exact.length > 0 ? exact : ALL_CALLS.filter((name) => name.includes(part))
    if (found.length === 0) throw new InvalidArgumentError(`no call is named like ${part}`)
    return found
  })
}

function wholeNumbers(text: string): number[] {
  const numbers = text.split(',').map(Number)
  if (numbers.some((number) => !Number.isInteger(number) || number < 0)) {
    throw new InvalidArgumentError('whole numbers, separated by commas')
  }
  return numbers
}
