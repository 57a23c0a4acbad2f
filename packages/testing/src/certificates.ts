import 'reflect-metadata' // what @peculiar/x509 is built with needs it
import { KeyObject, type webcrypto } from 'node:crypto'
import { mkdtemp, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator
} from '@peculiar/x509'

const KEY_ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' }
const SIGNING_ALGORITHM = { name: 'ECDSA', hash: 'SHA-256' }
const MS_PER_DAY = 86_400_000

/** A certificate and its key, both as PEM. */
export interface TestCertificate {
  readonly certificate: string
  readonly key: string
}

/** The content of a certificate. */
export interface CertificateOptions {
  /** The subject's common name. */
  readonly commonName?: string
  /** DNS names of the subject alternative name. */
  readonly dnsNames?: readonly string[]
  /** IP addresses of the subject alternative name. */
  readonly ipAddresses?: readonly string[]
  /** URIs of the subject alternative name. */
  readonly uris?: readonly string[]
  /** Start of its validity; default: yesterday. */
  readonly notBefore?: Date
  /** End of its validity; default: tomorrow. */
  readonly notAfter?: Date
}

/** An authority that signs certificates, for servers and clients alike. */
export interface TestAuthority {
  /** Its own certificate, as PEM: the one that others trust. */
  readonly certificate: string
  issue(options?: CertificateOptions): Promise<TestCertificate>
}

/** Creates an authority with its own key. */
export async function createTestAuthority(commonName = 'test authority'): Promise<TestAuthority> {
  const keys = await generateKeys()
  const issuer = `CN=${commonName}`
  const own = await X509CertificateGenerator.createSelfSigned({
    name: issuer,
    keys,
    ...lifetime({}),
    signingAlgorithm: SIGNING_ALGORITHM,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true)
    ]
  })
  return {
    certificate: own.toString('pem'),
    async issue(options = {}) {
      const { commonName: subject = 'test', dnsNames = [], ipAddresses = [], uris = [] } = options
      const { publicKey, privateKey } = await generateKeys()
      const names = [
        ...dnsNames.map((value) => ({ type: 'dns' as const, value })),
        ...ipAddresses.map((value) => ({ type: 'ip' as const, value })),
        ...uris.map((value) => ({ type: 'url' as const, value }))
      ]
      const issued = await X509CertificateGenerator.create({
        issuer,
        subject: `CN=${subject}`,
        publicKey,
        signingKey: keys.privateKey,
        ...lifetime(options),
        signingAlgorithm: SIGNING_ALGORITHM,
        extensions: [
          new BasicConstraintsExtension(false),
          new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
          ...(names.length === 0 ? [] : [new SubjectAlternativeNameExtension(names)])
        ]
      })
      return { certificate: issued.toString('pem'), key: pemOf(privateKey) }
    }
  }
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(KEY_ALGORITHM, true, ['sign', 'verify'])
}

function lifetime({ notBefore, notAfter }: CertificateOptions): { notBefore: Date; notAfter: Date } {
  const now = Date.now()
  return {
    notBefore: notBefore ?? new Date(now - MS_PER_DAY),
    notAfter: notAfter ?? new Date(now + MS_PER_DAY)
  }
}

function pemOf(key: webcrypto.CryptoKey): string {
  return KeyObject.from(key).export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** Files as a service reads them: constant paths, whatever is behind them. */
export interface TestTlsFiles {
  readonly certificate: string
  readonly key: string
  readonly authority: string
}

/** A folder of such files, which are replaced like a Kubernetes secret: all at once, behind a symbolic link. */
export interface TestTlsFolder {
  readonly files: TestTlsFiles
  /** Replaces the files. */
  replace(own: TestCertificate, authority: string): Promise<void>
  remove(): Promise<void>
}

/**
 * Writes files for one end of a connection.
 *
 * @param own its certificate and key
 * @param authority certificates, as PEM, of the authorities of the other end
 */
export async function writeTlsFiles(own: TestCertificate, authority: string): Promise<TestTlsFolder> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), 'tls-files-'))
  const current = join(folder, 'current')
  const replace = async (next: TestCertificate, nextAuthority: string): Promise<void> => {
    const version = await mkdtemp(join(folder, 'version-'))
    await writeFile(join(version, 'tls.crt'), next.certificate)
    await writeFile(join(version, 'tls.key'), next.key)
    await writeFile(join(version, 'ca.crt'), nextAuthority)
    await symlink(version, `${current}.next`)
    await rename(`${current}.next`, current)
  }
  await replace(own, authority)
  return {
    files: {
      certificate: join(current, 'tls.crt'),
      key: join(current, 'tls.key'),
      authority: join(current, 'ca.crt')
    },
    replace,
    remove: () => rm(folder, { recursive: true, force: true })
  }
}
