import {
  isLoopbackTarget,
  isNamedTarget,
  type TlsFiles,
  tlsFilesOf,
  type WatchedTlsFiles,
  watchTlsFiles
} from '@open-payments-server/grpc-transport'
import { createLogger } from '@open-payments-server/runtime'
import { ConfigurationError } from '@open-payments-server/runtime/configuration'
import { CommandError } from './command-error.js'
import type { OperatorTargets, OperatorTls } from './operator-client.js'

/** Options of TLS that every command takes. */
export interface TlsFlags {
  readonly tlsCa?: string | undefined
  readonly tlsCertificate?: string | undefined
  readonly tlsKey?: string | undefined
  readonly authName?: string | undefined
  readonly walletName?: string | undefined
}

/** The sources of the files' names, in words for the operator. */
const FILE_SETTINGS = {
  authority: '--tls-ca (OPERATOR_TLS_CA_FILE)',
  certificate: '--tls-certificate (OPERATOR_TLS_CERTIFICATE_FILE)',
  key: '--tls-key (OPERATOR_TLS_KEY_FILE)'
} as const

/**
 * Reads the certificates that flags, or else the environment, name.
 *
 * @returns undefined for plain text, which is only for services on this machine
 * @throws CommandError saying what is missing, or wrong with a file
 */
export async function openOperatorTls(
  sources: {
    readonly flags: TlsFlags
    readonly environment: Readonly<Record<string, string | undefined>>
  },
  targets: OperatorTargets
): Promise<OperatorTls | undefined> {
  const { flags, environment } = sources
  const paths = {
    [FILE_SETTINGS.authority]: flags.tlsCa ?? environment.OPERATOR_TLS_CA_FILE,
    [FILE_SETTINGS.certificate]: flags.tlsCertificate ?? environment.OPERATOR_TLS_CERTIFICATE_FILE,
    [FILE_SETTINGS.key]: flags.tlsKey ?? environment.OPERATOR_TLS_KEY_FILE
  }
  const files = tlsFilesOf(FILE_SETTINGS, paths)
  if (files === undefined) {
    refuseWithoutTls(paths, targets)
    return undefined
  }
  const serverNames = {
    auth: flags.authName ?? environment.AUTH_GRPC_TLS_SERVER_NAME,
    wallet: flags.walletName ?? environment.WALLET_GRPC_TLS_SERVER_NAME
  }
  for (const service of ['auth', 'wallet'] as const) {
    if (serverNames[service] === undefined && !isNamedTarget(targets[service])) {
      throw new CommandError(
        `${targets[service]} is an address: say which name its certificate bears, with --${service}-name`,
        `${service}-name`
      )
    }
  }
  return { files: await read(files), serverNames }
}

function refuseWithoutTls(
  paths: Readonly<Record<string, string | undefined>>,
  targets: OperatorTargets
): void {
  const missing = Object.keys(paths).filter((setting) => paths[setting] === undefined)
  if (missing.length < Object.keys(paths).length) {
    throw new CommandError(`certificates are given by halves: give ${missing.join(' and ')} too`)
  }
  const elsewhere = [targets.auth, targets.wallet].find((target) => !isLoopbackTarget(target))
  if (elsewhere === undefined) return
  throw new CommandError(
    `${elsewhere} is not on this machine, and plain text does not leave it: give ${missing.join(', ')}`
  )
}

async function read(files: TlsFiles): Promise<WatchedTlsFiles> {
  try {
    return await watchTlsFiles(files, { logger: createLogger({ service: 'operator-cli', level: 'silent' }) })
  } catch (error) {
    if (error instanceof ConfigurationError) throw new CommandError(error.problems.join('; '))
    throw error
  }
}
