// A process that only logs: executes commands, one word and number per line, and acknowledges each; ends with its input.
import { createInterface } from 'node:readline'
import { createLogger, runProcess } from '@open-payments-server/runtime'
const logger = createLogger({ service: 'chatterer', level: 'info' })
runProcess({ logger, stopMs: 1_000, start: () => Promise.resolve({ stop: () => Promise.resolve() }) })
const actions = {
  chat(count) {
    for (let index = 0; index < count; index += 1) logger.info({ index }, 'x'.repeat(1_000))
  },
  despair() {
    logger.fatal({}, 'one that pino would block the process for')
  },
  exit(status) {
    process.exit(status)
  },
  crash() {
    setImmediate(() => {
      throw new Error('unexpected')
    })
  }
}
for await (const line of createInterface({ input: process.stdin })) {
  const [word, number] = line.split(' ')
  actions[word](Number(number))
  process.stderr.write('done\n')
}
