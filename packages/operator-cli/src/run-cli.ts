import { RpcError, status } from '@open-payments-server/grpc-transport'
import { Command, CommanderError } from 'commander'
import { CommandError } from './command-error.js'
import { accountCommand } from './commands/account.js'
import { actionsCommand } from './commands/actions.js'
import { approvalRuleCommand } from './commands/approval-rule.js'
import { assetCommand } from './commands/asset.js'
import {
  auditCommand,
  EXIT_NOT_AUDITED,
  EXIT_VIOLATIONS,
  exitAsAudit,
  ViolationsFound
} from './commands/audit.js'
import { clientKeyCommand } from './commands/client-key.js'
import { eventCommand } from './commands/event.js'
import { freezeCommand, unfreezeCommand } from './commands/freeze.js'
import { grantCommand } from './commands/grant.js'
import { lostPaymentCommand } from './commands/lost-payment.js'
import { depositCommand, withdrawCommand } from './commands/money.js'
import { paymentCommand } from './commands/payment.js'
import { peerCommand } from './commands/peer.js'
import { DifferencesFound, EXIT_DIFFERENCES } from './commands/peer-statements.js'
import { proposalsCommand } from './commands/proposals.js'
import { webhookCommand } from './commands/webhook.js'
import { reservationCommand, ReservationsRefused } from './commands/reservation.js'
import { refundCommand } from './commands/refund.js'
import { EXIT_AWAITING, OperatorAwaited, statusCommand } from './commands/status.js'
import { walletAddressCommand } from './commands/wallet-address.js'
import { signInCommand, signOutCommand } from './commands/sign-in.js'
import { printable, toJson } from './output.js'
import { type CliSurroundings, sessionRunner } from './session.js'

/** What operators call fields of the contract, where a field's own name would not tell: their options and arguments. */
const OPERATORS_WORDS: Readonly<Record<string, string>> = {
  above_value: '--above',
  from_time: '--since',
  to_time: '--until',
  operator: '--by',
  subject: '--subject',
  'asset.code': 'the code',
  'asset.scale': 'the scale',
  after: '--after',
  client: 'the client',
  client_wallet_address: '--client',
  deposit_id: '--id',
  'holder.issuer': '--issuer',
  'holder.sub': '--sub',
  idempotency_key: '--key',
  identifier: '--wallet-address',
  kid: 'the key id',
  method: '--method',
  name: 'the account name',
  open_reservation_age_max_seconds: '--open-reservation-age-max',
  outgoing_payment: 'the URL of an outgoing payment',
  public_name: '--public-name',
  secret: '--secret',
  url: 'the URL',
  wallet_address: '--wallet-address',
  reason: '--reason',
  rule: 'a rule',
  value: 'the amount',
  withdrawal_id: '--id',
  x: 'the public key'
}

/** What the fields of peers are called, as far as that differs. */
const WORDS_OF_PEERS: Readonly<Record<string, string>> = {
  date: '--date',
  endpoint: '--endpoint',
  ilp_address: '--ilp-address',
  incoming_token: '--incoming-token',
  key: '--key',
  low_alert_value: '--low-alert',
  high_alert_value: '--high-alert',
  name: 'the name of the peer',
  outgoing_token: '--outgoing-token',
  overlap_seconds: '--overlap-hours',
  packet_limit_value: '--packet-limit',
  payable_limit_value: '--we-owe-limit',
  receivable_limit_value: '--limit',
  reference: '--reference',
  routes: '--route',
  value: '--value'
}

const EXIT_DONE = 0
const EXIT_FAILED: number = 1

/**
 * Runs a command line.
 *
 * @param words the arguments after the program's name
 * @returns the exit status: 0 done, 1 refused or failed, or the two sides of `peer reconcile` differ (for `audit`: 1 violations, 2 it
 * could not run; for `status`: 3 something awaits an operator)
 */
export async function runCli(words: readonly string[], surroundings: CliSurroundings): Promise<number> {
  const program = createProgram(surroundings)
  let exitFailed = EXIT_FAILED
  let wordsOfFields = OPERATORS_WORDS
  program.hook('preAction', (_program, command) => {
    if (command.name() === 'audit') exitFailed = EXIT_NOT_AUDITED
    if (command.parent?.name() === 'peer') wordsOfFields = { ...OPERATORS_WORDS, ...WORDS_OF_PEERS }
  })
  try {
    await program.parseAsync(words, { from: 'user' })
    return EXIT_DONE
  } catch (error) {
    // Commander has already reported the invalid arguments.
    if (error instanceof CommanderError) return error.exitCode
    if (error instanceof ViolationsFound) return EXIT_VIOLATIONS
    if (error instanceof DifferencesFound) return EXIT_DIFFERENCES
    if (error instanceof ReservationsRefused) return EXIT_FAILED
    if (error instanceof OperatorAwaited) return EXIT_AWAITING
    const { json } = program.opts<{ json?: boolean }>()
    const explained = explain(error, wordsOfFields)
    surroundings.stderr(
      json === true ? toJson({ error: explained }) : `error: ${printable(explained.message)}\n`
    )
    return exitFailed
  }
}

function createProgram(surroundings: CliSurroundings): Command {
  const run = sessionRunner(surroundings)
  const program = new Command(surroundings.name)
    .description('Operates the auth server and the resource server over gRPC.')
    .option('--json', 'print JSON')
    .option('--auth <target>', "the auth server's gRPC address, host:port (AUTH_GRPC_TARGET)")
    .option('--wallet <target>', "the resource server's gRPC address, host:port (WALLET_GRPC_TARGET)")
    .option(
      '--token-file <path>',
      'file with the ID token of who operates, instead of `sign-in` (OPERATOR_TOKEN_FILE)'
    )
    .option('--tls-ca <file>', "authorities of the services' certificates, PEM (OPERATOR_TLS_CA_FILE)")
    .option('--tls-certificate <file>', "the operator's certificate, PEM (OPERATOR_TLS_CERTIFICATE_FILE)")
    .option('--tls-key <file>', 'its key, PEM (OPERATOR_TLS_KEY_FILE)')
    .option('--auth-name <name>', "name in the auth server's certificate (AUTH_GRPC_TLS_SERVER_NAME)")
    .option('--wallet-name <name>', "name in the resource server's certificate (WALLET_GRPC_TLS_SERVER_NAME)")
    .configureOutput({ writeOut: surroundings.stdout, writeErr: surroundings.stderr })
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('(add --help for what is accepted)')
    .exitOverride()
    .addHelpText('after', '\nWithout addresses, the stack that `npm start` runs is operated.')
  const audit = auditCommand(run)
  const commands = [
    assetCommand(run),
    accountCommand(run),
    walletAddressCommand(run),
    depositCommand(run),
    withdrawCommand(run),
    clientKeyCommand(run),
    paymentCommand(run),
    approvalRuleCommand(run),
    refundCommand(run),
    lostPaymentCommand(run),
    reservationCommand(run),
    peerCommand(run),
    grantCommand(run),
    eventCommand(run),
    webhookCommand(run),
    freezeCommand(run),
    unfreezeCommand(run),
    actionsCommand(run),
    proposalsCommand(run),
    statusCommand(run),
    signInCommand(surroundings),
    signOutCommand(surroundings),
    audit
  ]
  for (const command of commands) {
    adopt(program, command)
    program.addCommand(command)
  }
  audit.exitOverride(exitAsAudit)
  return program
}

/** `addCommand` inherits nothing from its parent: output, help and exit behaviour must be those of the program. */
function adopt(parent: Command, command: Command): void {
  command.copyInheritedSettings(parent)
  for (const child of command.commands) adopt(command, child)
}

interface ExplainedError {
  readonly code: string
  readonly message: string
  readonly field?: string | undefined
  /** Id of the proposal that the call ended with. */
  readonly reference?: string | undefined
}

/** The message is for people, who do not know the contract's names. The field has such a name, for programs. */
function explain(error: unknown, wordsOfFields: Readonly<Record<string, string>>): ExplainedError {
  if (error instanceof RpcError) {
    const { code, field, reference } = error
    return { code: status[code], message: inOperatorsWords(error, wordsOfFields), field, reference }
  }
  if (error instanceof CommandError) {
    return { code: 'INVALID_COMMAND', message: error.message, field: error.field }
  }
  return { code: 'INTERNAL', message: error instanceof Error ? error.message : String(error) }
}

/** Services begin messages about a malformed field with its name, in the contract's terms. */
function inOperatorsWords(
  { field, message }: RpcError,
  wordsOfFields: Readonly<Record<string, string>>
): string {
  if (field === undefined || !message.startsWith(`${field} `)) return message
  const words = wordsOfFields[field] ?? `the ${field.replaceAll(/[._]/g, ' ')}`
  return `${words}${message.slice(field.length)}`
}
