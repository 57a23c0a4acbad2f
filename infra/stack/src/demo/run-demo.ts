import { setTimeout as delay } from 'node:timers/promises'
import { OpenPaymentsClientError } from '@interledger/open-payments'
import { RpcError } from '@open-payments-server/grpc-transport'
import { describeAmount, parseAmount } from '@open-payments-server/value-types/amounts'
import { OperatorClient } from '@open-payments-server/operator-cli'
import pc from 'picocolors'
import { StackError, stackPaths } from '../stack/settings.js'
import { readStackFile, type StackFile } from '../stack/stack-file.js'
import { createShownClient } from './client.js'
import { createFollowPayment } from './follow-payment.js'
import { type Payee, payPayee } from './pay-payee.js'
import { Storyteller } from './printing.js'
import { type Provider, startProvider } from './webhook.js'

/** How long money may take to arrive, in milliseconds. */
const ARRIVAL_TIMEOUT_MS = 20_000

/** A step of the demo failed. */
class DemoFailed extends Error {
  override readonly name = 'DemoFailed'
}

/**
 * Shows a payment from consent to received money against the running stack.
 *
 * @param options.yes whether consent is given without a person
 * @param options.across whether dora is paid, who has her wallet at the second provider, instead of bob
 * @returns the exit status: 0 when the money arrived, 1 otherwise
 */
export async function runDemo(options: { yes: boolean; across: boolean }): Promise<number> {
  try {
    await tell(await readStackFile(stackPaths(process.env).stackFile), options)
    return 0
  } catch (error) {
    process.stderr.write(`\n  ${pc.red('✗')} ${explain(error)}\n\n`)
    return 1
  }
}

/** Whom to pay, and who operates that wallet. */
function payeeOf(
  stack: StackFile,
  across: boolean
): { readonly payee: Payee; readonly provider: Pick<StackFile, 'authGrpc' | 'resourceGrpc'> } {
  if (!across) {
    const payee = { name: 'Bob', walletAddress: stack.walletAddresses.bob, amount: '10.00 USD' }
    return { payee, provider: stack }
  }
  const { secondProvider } = stack
  if (secondProvider === undefined) {
    throw new DemoFailed('There is one provider only. Start two: npm start -- --providers 2')
  }
  const payee = { name: 'Dora', walletAddress: secondProvider.walletAddresses.dora, amount: '10.00 EUR' }
  return { payee, provider: secondProvider }
}

async function tell(
  stack: StackFile,
  { yes, across }: { readonly yes: boolean; readonly across: boolean }
): Promise<void> {
  const story = new Storyteller()
  const { payee, provider: receiving } = payeeOf(stack, across)
  const operator = new OperatorClient({ auth: stack.authGrpc, wallet: stack.resourceGrpc })
  const other = new OperatorClient({ auth: receiving.authGrpc, wallet: receiving.resourceGrpc })
  const payeeName = payee.name.toLowerCase()
  const readBalances = async (): Promise<readonly [string, string]> => [
    await readBalance(operator, 'alice'),
    await readBalance(other, payeeName)
  ]
  let provider: Provider | undefined
  try {
    const where = across ? ', who has a wallet at another provider,' : ''
    process.stdout.write(
      `\n  ${pc.bold(`A shop pays ${payeeName}${where} ${payee.amount} from alice’s wallet, with her consent`)}\n`
    )
    const before = await readBalances()
    provider = await startProvider(other, payee.walletAddress)
    const client = await createShownClient(stack.client, story)
    const followPayment = createFollowPayment(stack.client, story, ARRIVAL_TIMEOUT_MS)
    const { id, receivedAmount } = await payPayee({ client, stack, story, yes, followPayment, payee })
    const after = await readBalances()

    story.step(
      'A webhook',
      `${payee.name}’s provider registered an endpoint for what ${payeeName} receives. It is told, too.`
    )
    const told = await inTime(provider.told(id))
    story.note(`${pc.cyan(told.type)} ${told.subject}`)
    story.note(`${pc.green('✓')} event ${told.id}, and the signature proves who sent it`)

    story.step('Balances', 'As the operators see them, before and after.')
    for (const [index, name] of ['alice', payeeName].entries()) {
      const [old, now] = [before[index] ?? '', after[index] ?? '']
      story.note(`${name.padEnd(6)} ${old.padStart(16)}  →  ${pc.bold(now.padStart(16))}`)
    }
    const received = describeAmount(parseAmount(receivedAmount))
    process.stdout.write(`\n  ${pc.green('✓')} ${pc.bold(`${payee.name} has received ${received}.`)}\n\n`)
  } finally {
    await provider?.stop()
    operator.close()
    other.close()
  }
}

async function inTime<Value>(promise: Promise<Value>): Promise<Value> {
  const late = delay(ARRIVAL_TIMEOUT_MS, undefined, { ref: false }).then(() => {
    throw new DemoFailed('the webhook did not arrive in time')
  })
  return Promise.race([promise, late])
}

async function readBalance(operator: OperatorClient, name: string): Promise<string> {
  const account = await operator.findAccount(name)
  if (account === undefined)
    throw new DemoFailed(`there is no account ${name}: run \`npm run reset\` and start again`)
  return describeAmount(account.available)
}

function explain(error: unknown): string {
  if (error instanceof OpenPaymentsClientError) {
    const status =
      error.status === undefined ? '' : ` (${[error.status, error.code].filter(Boolean).join(' ')})`
    const violations = (error.validationErrors ?? []).map((violation) => `\n      ${violation}`)
    return `${error.description}${status}${violations.join('')}`
  }
  if (error instanceof DOMException && error.name === 'TimeoutError')
    return 'The money did not arrive in time.'
  if (error instanceof RpcError) return 'The stack does not answer. Is `npm start` still running?'
  if (error instanceof StackError || error instanceof DemoFailed) return error.message
  return error instanceof Error ? error.message : String(error)
}
