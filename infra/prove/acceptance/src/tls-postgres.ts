import { execFile } from 'node:child_process'
import { chmod, chown, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type LocalPostgres, postgresUser, startPostgres } from '@open-payments-server/local-services'
import type { TestCertificate } from '@open-payments-server/testing/certificates'
import pg from 'pg'

const ASK_AGAIN_MS = 5
const SETTINGS = { max_connections: '60', log_min_messages: 'fatal' }

/** A primary and a standby of PostgreSQL that speak TLS to whoever wants it, each with certificates that can be exchanged. */
export class TlsPostgres {
  readonly #parent: string
  readonly #dataDirectory: string
  readonly #servers: readonly [primary: LocalPostgres, standby: LocalPostgres]
  #certificateCount: number

  private constructor(
    parent: string,
    dataDirectory: string,
    servers: readonly [primary: LocalPostgres, standby: LocalPostgres]
  ) {
    this.#parent = parent
    this.#dataDirectory = dataDirectory
    this.#servers = servers
    this.#certificateCount = 1
  }

  /** @param certificate that both of them show */
  static async start(certificate: TestCertificate): Promise<TlsPostgres> {
    const parent = await mkdtemp(join(await realpath(tmpdir()), 'tls-postgres-'))
    // PostgreSQL may run as a user of its own, who must get through.
    await chmod(parent, 0o711)
    const start = (place: string): Promise<LocalPostgres> =>
      startPostgres({ directory: join(parent, place), persistent: true, settings: SETTINGS })
    const dataOf = (place: string): string => join(parent, place, 'cluster', 'data')
    const plain = await start('first')
    await showCertificate(plain.url, dataOf('first'), '0', certificate)
    await plain.stop()
    // With modes and owners.
    await promisify(execFile)('cp', ['-a', join(parent, 'first'), join(parent, 'second')])
    await writeFile(join(dataOf('second'), 'standby.signal'), '')
    return new TlsPostgres(parent, dataOf('first'), [await start('first'), await start('second')])
  }

  /** To the primary, in plain text, as the superuser. */
  get plainUrl(): string {
    return this.#servers[0].url
  }

  /**
   * To the primary over TLS, as the superuser.
   *
   * @param host of this machine, which its certificate must be for
   * @param authority file of the certificates to trust
   */
  url(host: string, authority: string): string {
    return overTls(this.plainUrl, host, authority)
  }

  /** The same URL, with the standby as its first host. */
  onBoth(url: string): string {
    const { hostname, host } = new URL(url)
    const standby = `${hostname}:${new URL(this.#servers[1].url).port}`
    return `${url.replace(host, `${standby},${host}`)}&target_session_attrs=read-write`
  }

  /** Lets the primary show another certificate to those that connect from now on; without one it refuses TLS. */
  async show(certificate: TestCertificate | undefined): Promise<void> {
    const name = String(this.#certificateCount)
    this.#certificateCount += 1
    await showCertificate(this.plainUrl, this.#dataDirectory, name, certificate)
  }

  async stop(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.stop()))
    await rm(this.#parent, { recursive: true })
  }
}

function overTls(url: string, host: string, authority: string): string {
  const changed = Object.assign(new URL(url), { hostname: host })
  changed.searchParams.set('sslmode', 'verify-full')
  changed.searchParams.set('sslrootcert', authority)
  return changed.href
}

async function showCertificate(
  url: string,
  dataDirectory: string,
  name: string,
  certificate: TestCertificate | undefined
): Promise<void> {
  const user = await postgresUser()
  for (const [ending, content] of [
    ['crt', certificate?.certificate ?? ''],
    ['key', certificate?.key ?? '']
  ] as const) {
    const path = join(dataDirectory, `${name}.${ending}`)
    await writeFile(path, content, { mode: 0o600 })
    if (user !== undefined) await chown(path, user.uid, user.gid)
  }
  await ask(url, [
    `alter system set ssl = ${certificate === undefined ? 'off' : 'on'}`,
    `alter system set ssl_cert_file = '${name}.crt'`,
    `alter system set ssl_key_file = '${name}.key'`,
    'select pg_reload_conf()'
  ])
  // A new session has the settings that the server itself has.
  while ((await ask(url, ['show ssl_cert_file'])) !== `${name}.crt`) await delay(ASK_AGAIN_MS)
}

/** The first value that the last statement answers. */
async function ask(url: string, statements: readonly string[]): Promise<unknown> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    let value: unknown
    for (const statement of statements) {
      const { rows } = await client.query<unknown[]>({ text: statement, rowMode: 'array' })
      value = rows[0]?.[0]
    }
    return value
  } finally {
    await client.end()
  }
}
