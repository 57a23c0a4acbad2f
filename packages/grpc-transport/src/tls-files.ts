import { constants, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { ConfigurationError } from '@open-payments-server/runtime/configuration'

/** A file, and the setting that names it. */
export interface TlsFile {
  /** Name of the setting, for messages. */
  readonly setting: string
  readonly path: string
}

/** The certificate and key that one end of a connection presents, and the authorities that it trusts. All are PEM. */
export interface TlsFiles {
  /** Its own certificate, followed by the intermediate certificates. */
  readonly certificate: TlsFile
  /** The key of its own certificate, not encrypted. */
  readonly key: TlsFile
  /** Certificates of the authorities of the other end. */
  readonly authority: TlsFile
}

/** The contents of the files; for an unreadable one, the reason as text. */
export interface TlsFileContents {
  readonly certificate: Buffer | string
  readonly key: Buffer | string
  readonly authority: Buffer | string
}

/** Certificates and a key that match and are valid now. */
export interface TlsMaterial {
  /** As Node takes them. */
  readonly options: SecureContextOptions
  /** The own certificate. */
  readonly certificate: X509Certificate
}

/** Names of the settings that name the files. */
export interface TlsSettings<Name extends string> {
  readonly certificate: Name
  readonly key: Name
  readonly authority: Name
}

/**
 * Selects the files that settings name.
 *
 * @param config their values
 * @returns undefined unless all of them are set
 */
export function tlsFilesOf<Name extends string>(
  settings: TlsSettings<Name>,
  config: Readonly<Partial<Record<Name, string | undefined>>>
): TlsFiles | undefined {
  const fileOf = (setting: Name): TlsFile | undefined => {
    const path = config[setting]
    return path === undefined ? undefined : { setting, path }
  }
  const [certificate, key, authority] = [settings.certificate, settings.key, settings.authority].map(fileOf)
  if (certificate === undefined || key === undefined || authority === undefined) return undefined
  return { certificate, key, authority }
}

/** Reads the files, following symbolic links. */
export async function readTlsFiles({ certificate, key, authority }: TlsFiles): Promise<TlsFileContents> {
  const read = ({ path }: TlsFile): Promise<Buffer | string> =>
    readFile(path).catch((error: unknown) => (error as Error).message) // node:fs rejects with nothing else
  const [ofCertificate, ofKey, ofAuthority] = await Promise.all([
    read(certificate),
    read(key),
    read(authority)
  ])
  return { certificate: ofCertificate, key: ofKey, authority: ofAuthority }
}

/**
 * Checks that the contents of the files are usable, separately and together.
 *
 * @param nowMs the time, in milliseconds since the Unix epoch
 * @throws ConfigurationError naming the settings of the wrong files, and nothing of a key file's content
 */
export function checkTlsFiles(files: TlsFiles, contents: TlsFileContents, nowMs: number): TlsMaterial {
  const problems: string[] = []
  const attempt = <Parsed>(
    { setting, path }: TlsFile,
    content: Buffer | string,
    parse: (pem: Buffer) => Parsed,
    expected: string
  ): Parsed | undefined => {
    if (typeof content === 'string') {
      problems.push(`${setting}: ${path} cannot be read: ${content}`)
      return undefined
    }
    try {
      return parse(content)
    } catch {
      problems.push(`${setting}: ${path} must contain ${expected}`)
      return undefined
    }
  }
  const own = attempt(files.certificate, contents.certificate, parseCertificates, 'PEM certificates, whole')
  const key = attempt(files.key, contents.key, createPrivateKey, 'a PEM key without a passphrase')
  attempt(files.authority, contents.authority, parseCertificates, 'PEM certificates, whole')
  const [certificate] = own ?? []
  if (certificate !== undefined) problems.push(...findMisfits(files, certificate, key, nowMs))
  if (certificate === undefined || problems.length > 0) throw new ConfigurationError(problems)
  return { certificate, options: secureOptions(files, contents) }
}

function findMisfits(
  files: TlsFiles,
  certificate: X509Certificate,
  key: KeyObject | undefined,
  nowMs: number
): string[] {
  const problems: string[] = []
  const { validFrom, validTo } = certificate
  if (key !== undefined && !certificate.checkPrivateKey(key)) {
    problems.push(
      `${files.key.setting}: ${files.key.path} must contain the key of the certificate in ${files.certificate.path}`
    )
  }
  if (nowMs < Date.parse(validFrom) || nowMs > Date.parse(validTo)) {
    const lifetime = `from ${validFrom} to ${validTo}`
    problems.push(
      `${files.certificate.setting}: the certificate in ${files.certificate.path} is good only ${lifetime}`
    )
  }
  return problems
}

/** @throws Error unless there is a certificate, and each one that begins also ends: OpenSSL silently ignores the rest */
function parseCertificates(content: Buffer): X509Certificate[] {
  const blocks = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
  const pem = content.toString('latin1')
  const certificates = (pem.match(blocks) ?? []).map((block) => new X509Certificate(block))
  if (certificates.length === 0 || pem.replaceAll(blocks, '').includes('-----')) {
    throw new Error('no certificates, or half of one')
  }
  return certificates
}

function secureOptions(
  files: TlsFiles,
  { certificate, key, authority }: TlsFileContents
): SecureContextOptions {
  const options = {
    cert: certificate as Buffer, // each was read, or this is not reached
    key: key as Buffer,
    ca: authority as Buffer,
    // Both ends are ours: nothing older is needed, and none of its weaknesses.
    minVersion: 'TLSv1.3' as const,
    // Sessions are not resumed: every connection presents its certificate anew.
    secureOptions: constants.SSL_OP_NO_TICKET
  }
  try {
    createSecureContext(options)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ConfigurationError([
      `${files.certificate.setting}: ${files.certificate.path} cannot be used for TLS: ${reason}`
    ])
  }
  return options
}
