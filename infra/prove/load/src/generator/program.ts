// The load generator: a separate process, so that its CPU time is measured separately and delays no answers.
import type { GeneratorAnswer, GeneratorTask } from './messages.js'
import { prepareGrpc, sendGrpc } from './send-grpc.js'
import { type PreparedRequest, prepareHttp, sendHttp } from './send-http.js'

let pool:
  | { kind: 'http'; requests: readonly PreparedRequest[]; cursor: { next: number } }
  | { kind: 'grpc'; requests: readonly Buffer[] } = { kind: 'grpc', requests: [] }

process.on('message', (task: GeneratorTask) => {
  void perform(task)
    .catch((error: unknown): GeneratorAnswer => ({
      failure: error instanceof Error ? error.message : String(error)
    }))
    .then((answer) => process.send?.(answer))
})
process.on('disconnect', () => process.exit())

async function perform(task: GeneratorTask): Promise<GeneratorAnswer> {
  switch (task.do) {
    case 'prepare http':
      pool = { kind: 'http', requests: prepareHttp(task), cursor: { next: 0 } }
      return { prepared: pool.requests.length }
    case 'prepare grpc':
      pool = { kind: 'grpc', requests: prepareGrpc(task) }
      return { prepared: pool.requests.length }
    case 'send':
      // Prepared requests, including the rest from the run before.
      globalThis.gc?.()
      return {
        sent: await (pool.kind === 'http'
          ? sendHttp(pool.requests, pool.cursor, task)
          : sendGrpc(pool.requests, task))
      }
  }
}
