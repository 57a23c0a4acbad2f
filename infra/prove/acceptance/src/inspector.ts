import { once } from 'node:events'
import { request, WebSocket } from 'undici'

interface InspectorAnswer {
  readonly id?: number
  readonly result?: unknown
  readonly error?: { readonly message: string }
}

const SAMPLE_INTERVAL_US = 500

/** The inspector of a Node process on this machine. */
export class Inspector {
  readonly #socket: WebSocket
  #turn = 0
  readonly #waiting = new Map<number, (answer: InspectorAnswer) => void>()

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.addEventListener('message', ({ data }) => {
      const answer = JSON.parse(String(data)) as InspectorAnswer
      if (answer.id === undefined) return
      this.#waiting.get(answer.id)?.(answer)
      this.#waiting.delete(answer.id)
    })
  }

  /** Connects to the inspector at a port. */
  static async connect(port: number): Promise<Inspector> {
    const { body } = await request(`http://127.0.0.1:${String(port)}/json/list`)
    const [target] = (await body.json()) as { webSocketDebuggerUrl: string }[]
    if (target === undefined) throw new Error(`nothing is inspected on port ${String(port)}`)
    const socket = new WebSocket(target.webSocketDebuggerUrl)
    await once(socket, 'open')
    return new Inspector(socket)
  }

  /** Begins a CPU profile. */
  async startProfile(): Promise<void> {
    await this.#ask('Profiler.enable')
    await this.#ask('Profiler.setSamplingInterval', { interval: SAMPLE_INTERVAL_US })
    await this.#ask('Profiler.start')
  }

  /** Ends it. @returns the content of a `*.cpuprofile` file */
  async stopProfile(): Promise<object> {
    const { profile } = (await this.#ask('Profiler.stop')) as { profile: object }
    return profile
  }

  /** Used heap after garbage collection, in bytes. */
  async heapAfterCollection(): Promise<number> {
    await this.#ask('HeapProfiler.collectGarbage')
    const { usedSize } = (await this.#ask('Runtime.getHeapUsage')) as { usedSize: number }
    return usedSize
  }

  close(): void {
    this.#socket.close()
  }

  async #ask(method: string, params: object = {}): Promise<unknown> {
    const id = (this.#turn += 1)
    const answered = new Promise<InspectorAnswer>((resolve) => this.#waiting.set(id, resolve))
    this.#socket.send(JSON.stringify({ id, method, params }))
    const { result, error } = await answered
    if (error !== undefined) throw new Error(`${method}: ${error.message}`)
    return result
  }
}
