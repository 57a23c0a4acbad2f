import { Command } from 'commander'
import { ApprovalClient, type OperatorApprovalRule } from '../approval-client.js'
import type { RunSession } from '../session.js'

/** What is asked of a payment; the service reads it. */
interface CreateOptions {
  readonly above?: string
  readonly walletAddress?: string
  readonly client?: string
  readonly firstPayee?: boolean
  readonly method?: string
}

/** `approval-rule create|list|delete` */
export function approvalRuleCommand(run: RunSession): Command {
  const rule = new Command('approval-rule').description('which payments await the approval of the provider')

  rule
    .command('create')
    .description('let payments that meet all conditions await approval; at least one is needed')
    .option('--above <value>', 'the debit is above this, in the smallest unit of its asset')
    .option('--wallet-address <url>', 'it is paid from this wallet address')
    .option(
      '--client <client>',
      "it is created by this client: its wallet address's URL, or jwk: and a thumbprint"
    )
    .option('--first-payee', 'its wallet address has never paid that of the receiver')
    .option('--method <method>', 'it reaches its receiver in this way: local')
    .action((options: CreateOptions, command: Command) =>
      run(command, async ({ client, print }) => {
        const created = await new ApprovalClient(client).createRule({
          above: options.above,
          walletAddress: options.walletAddress,
          client: options.client,
          firstPayee: options.firstPayee === true,
          method: options.method
        })
        print.result(ruleJson(created), `Created the rule ${created.id}: ${describe(created)}.`)
      })
    )

  rule
    .command('list')
    .description('list all rules, the oldest first')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ client, print }) => {
        print.list(await new ApprovalClient(client).listRules(), {
          name: 'approval rules',
          columns: [
            ['Rule', ({ id }) => id],
            ['Payments that await approval', describe]
          ],
          json: ruleJson
        })
      })
    )

  rule
    .command('delete')
    .description('delete a rule; payments that met it still await approval')
    .argument('<rule-id>', 'its id')
    .action((id: string, _options, command: Command) =>
      run(command, async ({ client, print }) => {
        await new ApprovalClient(client).deleteRule(id)
        print.result({ id }, `Deleted the rule ${id}.`)
      })
    )
  return rule
}

function describe({ above, walletAddress, client, firstPayee, method }: OperatorApprovalRule): string {
  const conditions = [
    above === undefined ? [] : [`debits above ${above}`],
    walletAddress === undefined ? [] : [`from ${walletAddress}`],
    client === undefined ? [] : [`by the client ${client}`],
    firstPayee ? ['to a payee for the first time'] : [],
    method === undefined ? [] : [`by the method ${method}`]
  ]
  return conditions.flat().join(', ')
}

function ruleJson(rule: OperatorApprovalRule): unknown {
  return {
    id: rule.id,
    above: rule.above ?? null,
    walletAddress: rule.walletAddress ?? null,
    client: rule.client ?? null,
    firstPayee: rule.firstPayee,
    method: rule.method ?? null,
    createdAt: rule.createdAt ?? null
  }
}
