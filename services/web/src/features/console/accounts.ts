import { wallet } from '@open-payments-server/proto'
import type { Block, Cell, Fact } from '../../pages/console/blocks.js'
import { OperationRefused } from '../operated.js'
import { PAGE_SIZE, paymentTable } from './payments.js'
import { entryTable } from './tables.js'
import { kindOf, NONE, pathTo } from './show.js'
import type { Reply, Visit } from './visit.js'

/** Number of payments that are shown of a wallet address. */
const FEW = 10

/** `/accounts`: all accounts with their balances, by name. */
export async function listAccounts(visit: Visit): Promise<Reply> {
  const { t, show, operated, query } = visit
  const pageToken = query.get('after') ?? ''
  const request = wallet.ListAccountsRequest.fromPartial({ pageSize: PAGE_SIZE, pageToken })
  const page = await operated.wallets('listAccounts', request)
  return {
    title: t('accounts'),
    section: 'accounts',
    blocks: [
      {
        kind: 'table',
        title: t('accounts'),
        isTitleHidden: true,
        empty: t('noAccounts'),
        next: page.nextPageToken === '' ? undefined : pathTo('/accounts', { after: page.nextPageToken }),
        columns: [
          { label: t('account') },
          { label: t('balance'), isNumber: true },
          { label: t('held'), isNumber: true },
          { label: t('available'), isNumber: true },
          { label: t('state') },
          { label: t('holder') }
        ],
        rows: page.accounts.map((account) => [
          show.account(account.name),
          show.money(account.balanceValue, account.asset),
          show.money(account.heldValue, account.asset),
          show.money(account.availableValue, account.asset),
          frozenCell(visit, account.freeze),
          account.holder?.sub ?? NONE
        ])
      }
    ]
  }
}

/** Whether something is frozen. */
export function frozenCell({ t }: Visit, freeze: unknown): Cell {
  return freeze === undefined ? { text: t('active') } : { text: t('frozen'), tone: 'bad' }
}

/** Since when, by whom and why something is frozen. */
export function freezeFacts(visit: Visit, freeze: wallet.Freeze | undefined): Fact[] {
  const { t, show } = visit
  if (freeze === undefined) return [{ label: t('state'), value: t('active') }]
  return [
    { label: t('state'), value: frozenCell(visit, freeze) },
    { label: t('frozenSince'), value: show.instant(freeze.freezeTime) },
    { label: t('by'), value: freeze.frozenBy === '' ? NONE : freeze.frozenBy },
    { label: t('reason'), value: freeze.reason === '' ? NONE : freeze.reason }
  ]
}

/** Finds an account by its name. */
export async function findAccount({ operated }: Visit, name: string): Promise<wallet.Account | undefined> {
  const request = wallet.ListAccountsRequest.fromPartial({ name })
  return (await operated.wallets('listAccounts', request)).accounts[0]
}

/** What is told of an account. */
export function accountFacts(visit: Visit, account: wallet.Account): Fact[] {
  const { t, show } = visit
  const money = (value: string): string => show.money(value, account.asset)
  const { holder } = account
  return [
    { label: t('balance'), value: money(account.balanceValue) },
    { label: t('held'), value: money(account.heldValue) },
    { label: t('available'), value: money(account.availableValue) },
    ...freezeFacts(visit, account.freeze),
    { label: t('holder'), value: holder === undefined ? NONE : { text: holder.sub, remark: holder.issuer } },
    { label: t('created'), value: show.instant(account.createTime) }
  ]
}

/** `/accounts/:name`: an account, its wallet addresses and its statement. */
export async function showAccount(visit: Visit): Promise<Reply> {
  const { t, operated, query, request } = visit
  const accountName = request.param('name')
  const after = query.get('after') ?? ''
  const [account, { walletAddresses }, statement] = await Promise.all([
    findAccount(visit, accountName),
    operated.wallets(
      'listWalletAddresses',
      wallet.ListWalletAddressesRequest.fromPartial({ accountName, pageSize: PAGE_SIZE })
    ),
    operated.wallets('listAccountEntries', { accountName, pageSize: PAGE_SIZE, pageToken: after })
  ])
  if (account === undefined) throw new OperationRefused('not-found', accountName)
  const path = `/accounts/${encodeURIComponent(accountName)}`
  const next = statement.nextPageToken === '' ? undefined : pathTo(path, { after: statement.nextPageToken })
  return {
    title: accountName,
    section: 'accounts',
    blocks: [
      { kind: 'facts', facts: accountFacts(visit, account) },
      {
        kind: 'acts',
        acts: visit.may('operator')
          ? [account.freeze === undefined ? 'freeze-account' : 'unfreeze-account', 'deposit', 'withdraw'].map(
              (act) => ({
                label: t(`act.${act}` as 'act.deposit'),
                href: pathTo(`/act/${act}`, { subject: accountName })
              })
            )
          : []
      },
      walletAddressTable(visit, walletAddresses, t('walletAddresses')),
      { ...entryTable(visit, statement.entries, next), title: t('statement') } as Block
    ]
  }
}

function walletAddressTable(
  visit: Visit,
  found: readonly wallet.WalletAddress[],
  title: string | undefined,
  next?: string
): Block {
  const { t, show } = visit
  return {
    kind: 'table',
    title: title ?? t('walletAddresses'),
    isTitleHidden: title === undefined,
    empty: t('noWalletAddresses'),
    next,
    columns: [
      { label: t('walletAddress') },
      { label: t('publicName') },
      { label: t('account') },
      { label: t('state') },
      { label: t('keys'), isNumber: true }
    ],
    rows: found.map((each) => [
      show.walletAddress(each.url),
      show.text(each.publicName),
      show.account(each.accountName),
      frozenCell(visit, each.freeze),
      String(each.keyIds.length)
    ])
  }
}

/** `/wallet-addresses`: all of them, by path. */
export async function listWalletAddresses(visit: Visit): Promise<Reply> {
  const { t, operated, query } = visit
  const pageToken = query.get('after') ?? ''
  const request = wallet.ListWalletAddressesRequest.fromPartial({ pageSize: PAGE_SIZE, pageToken })
  const page = await operated.wallets('listWalletAddresses', request)
  const next =
    page.nextPageToken === '' ? undefined : pathTo('/wallet-addresses', { after: page.nextPageToken })
  return {
    title: t('walletAddresses'),
    section: 'walletAddresses',
    blocks: [walletAddressTable(visit, page.walletAddresses, undefined, next)]
  }
}

/** Finds a wallet address by its URL. */
export async function findWalletAddress(
  { operated }: Visit,
  walletAddress: string
): Promise<wallet.WalletAddress | undefined> {
  const request = wallet.ListWalletAddressesRequest.fromPartial({ walletAddress })
  return (await operated.wallets('listWalletAddresses', request)).walletAddresses[0]
}

/** What is told of a wallet address. */
export function walletAddressFacts(visit: Visit, found: wallet.WalletAddress): Fact[] {
  const { t, show } = visit
  return [
    { label: t('publicName'), value: found.publicName === '' ? NONE : show.text(found.publicName) },
    { label: t('account'), value: show.account(found.accountName) },
    ...freezeFacts(visit, found.freeze)
  ]
}

/** `/wallet-address?url=`: one, with its keys and newest payments. */
export async function showWalletAddress(visit: Visit): Promise<Reply> {
  const { t, operated, query } = visit
  const url = query.get('url') ?? ''
  const found = url === '' ? undefined : await findWalletAddress(visit, url)
  if (found === undefined) throw new OperationRefused('not-found', t('noSuchWalletAddress', url))
  const [outgoing, incoming] = await Promise.all(
    (['outgoing', 'incoming'] as const).map((kind) =>
      operated.wallets(
        'listPayments',
        wallet.ListPaymentsRequest.fromPartial({ kind: kindOf(kind), walletAddress: url, pageSize: FEW })
      )
    )
  )
  const more = (kind: string, token = ''): string | undefined =>
    token === '' ? undefined : pathTo('/payments', { kind, wallet: url, after: token })
  return {
    title: found.url,
    section: 'walletAddresses',
    blocks: [
      { kind: 'facts', facts: walletAddressFacts(visit, found) },
      {
        kind: 'acts',
        acts: [
          ...(visit.may('operator')
            ? [found.freeze === undefined ? 'freeze-wallet-address' : 'unfreeze-wallet-address'].map(
                (act) => ({
                  label: t(`act.${act}` as 'act.freeze-wallet-address'),
                  href: pathTo(`/act/${act}`, { subject: url })
                })
              )
            : []),
          { label: t('itsGrants'), href: pathTo('/grants', { wallet: url }) }
        ]
      },
      {
        kind: 'table',
        title: t('keys'),
        empty: t('noKeys'),
        columns: [{ label: t('keyId') }, ...(visit.may('operator') ? [{ label: t('whatYouCanDo') }] : [])],
        rows: found.keyIds.map((kid) => [
          { text: kid, isCode: true },
          ...(visit.may('operator')
            ? [{ text: t('act.revoke-key'), href: pathTo('/act/revoke-key', { subject: `${kid} ${url}` }) }]
            : [])
        ])
      },
      paymentTable(visit, outgoing?.payments ?? [], 'outgoing', {
        title: t('outgoing'),
        next: more('outgoing', outgoing?.nextPageToken)
      }),
      paymentTable(visit, incoming?.payments ?? [], 'incoming', {
        title: t('incoming'),
        next: more('incoming', incoming?.nextPageToken)
      })
    ]
  }
}
