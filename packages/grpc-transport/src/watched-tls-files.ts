import { createHash } from 'node:crypto'
import type { SecureContextOptions } from 'node:tls'
import type { Lifecycle, Logger, Part } from '@open-payments-server/runtime'
import {
  checkTlsFiles,
  readTlsFiles,
  type TlsFileContents,
  type TlsFiles,
  type TlsMaterial,
  tlsFilesOf,
  type TlsSettings
} from './tls-files.js'

/**
 * How often the files are read. Contents are used after two identical reads in a row: new connections use a replaced file
 * within ten seconds.
 */
const TLS_FILES_INTERVAL_MS = 5_000

/** Certificates and key of one end of its connections: always the latest usable ones that the files contained. */
export interface WatchedTlsFiles extends Part {
  /** Used by new connections. */
  readonly current: SecureContextOptions
  /** When its own certificate expires, in milliseconds since the Unix epoch. */
  readonly expiresAtMs: number
  /** Calls back whenever that changes. Returns how to stop it. */
  onChange(listener: (current: SecureContextOptions) => void): () => void
}

/**
 * Reads the files repeatedly, so that they can be replaced while the process runs. It polls instead of watching: Kubernetes
 * replaces a secret behind a symbolic link, which watching the file does not report.
 *
 * Files that are half written, do not match or have expired are not used: the previous ones stay, and the log says so once.
 *
 * @param options.intervalMs between two reads
 * @throws ConfigurationError naming the settings when the files are unusable at the start
 */
export async function watchTlsFiles(
  files: TlsFiles,
  { logger, intervalMs = TLS_FILES_INTERVAL_MS }: { logger: Logger; intervalMs?: number | undefined }
): Promise<WatchedTlsFiles> {
  const contents = await readTlsFiles(files)
  return new TlsFileWatcher(files, contents, logger, intervalMs)
}

/**
 * Watches the files that the settings of a service name, until it stops.
 *
 * @returns undefined when they are not set
 * @throws ConfigurationError naming the settings when the files are unusable
 */
export async function openTls<Name extends string>(
  settings: TlsSettings<Name>,
  service: {
    readonly config: Readonly<Partial<Record<Name, string | undefined>>>
    readonly logger: Logger
    readonly lifecycle: Lifecycle
  }
): Promise<WatchedTlsFiles | undefined> {
  const files = tlsFilesOf(settings, service.config)
  if (files === undefined) return undefined
  const watched = await watchTlsFiles(files, { logger: service.logger })
  service.lifecycle.add(watched)
  return watched
}

class TlsFileWatcher implements WatchedTlsFiles {
  readonly name = 'TLS files'
  readonly #files: TlsFiles
  readonly #logger: Logger
  readonly #listeners = new Set<(current: SecureContextOptions) => void>()
  readonly #timer: NodeJS.Timeout
  #material: TlsMaterial
  /** Digest of the files in use. */
  #used: string
  /** Digest of the last read. */
  #found: string
  /** Why the last files were not used; logged once. */
  #refusal: string | undefined
  #looking = false

  constructor(files: TlsFiles, contents: TlsFileContents, logger: Logger, intervalMs: number) {
    this.#files = files
    this.#logger = logger
    this.#material = checkTlsFiles(files, contents, Date.now())
    this.#used = digestOf(contents)
    this.#found = this.#used
    this.#timer = setInterval(() => void this.#look(), intervalMs).unref()
    this.#tell('TLS files read')
  }

  get current(): SecureContextOptions {
    return this.#material.options
  }

  get expiresAtMs(): number {
    return Date.parse(this.#material.certificate.validTo)
  }

  onChange(listener: (current: SecureContextOptions) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#listeners.clear()
    return Promise.resolve()
  }

  async #look(): Promise<void> {
    if (this.#looking) return
    this.#looking = true
    try {
      const contents = await readTlsFiles(this.#files)
      const digest = digestOf(contents)
      // A writer of several files may not be done when one of them has changed.
      const settled = digest === this.#found
      this.#found = digest
      if (settled && digest !== this.#used) this.#use(contents, digest)
    } finally {
      this.#looking = false
    }
  }

  #use(contents: TlsFileContents, digest: string): void {
    try {
      this.#material = checkTlsFiles(this.#files, contents, Date.now())
    } catch (error) {
      const { message } = error as Error // checkTlsFiles and OpenSSL throw nothing else
      if (message !== this.#refusal) {
        this.#logger.warn({ reason: message }, 'TLS files not used: those read before stay')
      }
      this.#refusal = message
      return
    }
    this.#used = digest
    this.#refusal = undefined
    this.#tell('TLS files replaced: new connections use them')
    for (const listener of this.#listeners) listener(this.current)
  }

  #tell(message: string): void {
    const { subjectAltName, serialNumber, validTo } = this.#material.certificate
    const { path } = this.#files.certificate
    this.#logger.info({ certificate: path, names: subjectAltName, serialNumber, validTo }, message)
  }
}

function digestOf({ certificate, key, authority }: TlsFileContents): string {
  const hash = createHash('sha256')
  for (const content of [certificate, key, authority]) {
    hash.update(`${typeof content} ${String(content.length)} `).update(content)
  }
  return hash.digest('hex')
}
