import pg from 'pg'
import { assertFit, readServerState } from './server-state.js'
import { TracedClient } from './traced-client.js'

/** How long a host is asked what it is, in milliseconds: shorter than a connection is waited for. */
const ASK_TIMEOUT_MS = 1_000

const DEFAULT_PORT = 5432

/** Which of a database's hosts is the primary. */
export class Primary {
  readonly #urls: readonly string[]
  #found: Promise<string> | undefined

  /** @param urls of the hosts */
  constructor(urls: readonly string[]) {
    this.#urls = urls
  }

  /**
   * The URL of the host that was last found to be the primary, or is found now. Of several that say so, as when a cut-off one does not
   * know of its successor yet, the one that was promoted last.
   *
   * @throws AggregateError with what each host said, when none is
   */
  find(): Promise<string> {
    this.#found ??= findPrimary(this.#urls).catch((error: unknown) => {
      this.forget()
      throw error
    })
    return this.#found
  }

  /** It could not be reached, or is none: the next one who asks finds out anew. */
  forget(): void {
    this.#found = undefined
  }
}

async function findPrimary(urls: readonly string[]): Promise<string> {
  const asked = await Promise.allSettled(
    urls.map(async (url) => {
      const server = await ask(url)
      assertFit(server, 'accept-loss')
      return { url, timeline: server.timeline ?? '' }
    })
  )
  const primaries = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  const [newest] = primaries.sort((one, other) => (one.timeline > other.timeline ? -1 : 1))
  if (newest !== undefined) return newest.url
  const errors = asked.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []))
  throw new AggregateError(errors, 'no host of the database is the primary')
}

async function ask(url: string) {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'primary-search',
    connectionTimeoutMillis: ASK_TIMEOUT_MS,
    query_timeout: ASK_TIMEOUT_MS
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return await readServerState(client)
  } finally {
    await client.end()
  }
}

/** Where a connection goes that has a choice. */
export interface HostChoice {
  readonly primary?: Primary
}

type Connected = ((error: Error) => void) | ((error: null, client: pg.Client) => void)

/** A connection to whichever host is the primary when it is made. */
export class PrimaryClient extends TracedClient {
  readonly #primary: Primary | undefined

  constructor(config?: ConstructorParameters<typeof TracedClient>[0] & HostChoice) {
    super(config)
    this.#primary = config?.primary
    // Whoever waits for it hears of it, or its next statement does. Without a listener it would end the process: also one that comes
    // together with the word that the connection is there, before the pool listens.
    this.on('error', () => undefined)
  }

  override connect(): Promise<this>
  override connect(callback: Connected): void
  override connect(callback?: Connected): Promise<this> | undefined {
    const connecting = this.#connectToPrimary()
    if (callback === undefined) return connecting
    const answer = callback as (error: Error | null, client?: pg.Client) => void
    connecting.then((client) => {
      answer(null, client)
    }, answer)
    return undefined
  }

  async #connectToPrimary(): Promise<this> {
    if (this.#primary !== undefined) {
      const { hostname, port } = new URL(await this.#primary.find())
      const to = {
        host: hostname.replace(/^\[(.*)\]$/, '$1'),
        port: Number(port === '' ? DEFAULT_PORT : port)
      }
      Object.assign(this, to)
    }
    try {
      await super.connect()
      return this
    } catch (error) {
      this.#primary?.forget()
      throw error
    }
  }
}
