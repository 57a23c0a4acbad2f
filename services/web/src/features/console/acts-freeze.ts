import { auth } from '@open-payments-server/proto'
import { OperationRefused } from '../operated.js'
import { accountFacts, findAccount, findWalletAddress, freezeFacts, walletAddressFacts } from './accounts.js'
import { type Act, type Prepared, reasonField, reasonOf } from './act.js'
import { clientFacts } from './grants.js'
import { pathTo } from './show.js'
import type { Visit } from './visit.js'

/** Field with the freeze that a page showed, by when it began: only that one ends. */
const FREEZE_FIELD = 'freezeTime'

function showing(freezes: boolean, freezeTime: Date | undefined): Required<Pick<Prepared, 'hidden'>> {
  return { hidden: freezes || freezeTime === undefined ? [] : [[FREEZE_FIELD, freezeTime.toISOString()]] }
}

/**
 * When the freeze began that the page showed.
 *
 * @throws OperationRefused where it showed none: one that is there by now was not looked at
 */
function shownFreeze({ t, fields }: Visit): Date {
  const freezeTime = new Date(fields.get(FREEZE_FIELD) ?? '')
  if (Number.isNaN(freezeTime.getTime())) throw new OperationRefused('not-possible', t('noFreezeShown'))
  return freezeTime
}

function afterwards(
  { t }: Visit,
  freezes: boolean
): { label: string; value: { text: string; tone: 'good' | 'bad' } }[] {
  return [
    {
      label: t('state'),
      value: freezes ? { text: t('frozen'), tone: 'bad' } : { text: t('active'), tone: 'good' }
    }
  ]
}

/** Freezes an account, or ends its freeze. @param freezes which of the two */
export function freezeAccount(freezes: boolean): Act {
  const backTo = (name: string): string => `/accounts/${encodeURIComponent(name)}`
  return {
    role: 'operator',
    async prepare(visit, subject) {
      const account = await findAccount(visit, subject)
      if (account === undefined) throw new OperationRefused('not-found', subject)
      return {
        before: [{ label: visit.t('account'), value: subject }, ...accountFacts(visit, account)],
        after: afterwards(visit, freezes),
        fields: [reasonField(visit)],
        ...showing(freezes, account.freeze?.freezeTime),
        back: backTo(subject)
      }
    },
    async perform(visit, subject) {
      const request = { accountName: subject, reason: reasonOf(visit) }
      const { account } = await (freezes
        ? visit.operated.wallets('freezeAccount', request)
        : visit.operated.wallets('unfreezeAccount', { ...request, freezeTime: shownFreeze(visit) }))
      return { now: freezeFacts(visit, account?.freeze), back: backTo(subject) }
    }
  }
}

/** Freezes a wallet address, or ends its freeze. @param freezes which of the two */
export function freezeWalletAddress(freezes: boolean): Act {
  const backTo = (url: string): string => pathTo('/wallet-address', { url })
  return {
    role: 'operator',
    async prepare(visit, subject) {
      const found = await findWalletAddress(visit, subject)
      if (found === undefined) throw new OperationRefused('not-found', subject)
      return {
        before: [{ label: visit.t('walletAddress'), value: subject }, ...walletAddressFacts(visit, found)],
        after: afterwards(visit, freezes),
        fields: [reasonField(visit)],
        ...showing(freezes, found.freeze?.freezeTime),
        back: backTo(subject)
      }
    },
    async perform(visit, subject) {
      const request = { walletAddress: subject, reason: reasonOf(visit) }
      const { walletAddress } = await (freezes
        ? visit.operated.wallets('freezeWalletAddress', request)
        : visit.operated.wallets('unfreezeWalletAddress', { ...request, freezeTime: shownFreeze(visit) }))
      return { now: freezeFacts(visit, walletAddress?.freeze), back: backTo(subject) }
    }
  }
}

/** Freezes a client, or ends its freeze. @param freezes which of the two */
export function freezeClient(freezes: boolean): Act {
  // The contract names a client that is identified only by its key by that key's thumbprint alone.
  const nameOnWire = (subject: string): string => subject.replace(/^jwk:/, '')
  const backTo = (name: string): string => pathTo('/client', { name })
  return {
    role: 'operator',
    async prepare(visit, subject) {
      const request = auth.ListFrozenClientsRequest.fromPartial({ client: subject })
      const { clients } = await visit.operated.grants('listFrozenClients', request)
      return {
        before: [{ label: visit.t('client'), value: subject }, ...clientFacts(visit, clients[0])],
        after: afterwards(visit, freezes),
        fields: [reasonField(visit)],
        ...showing(freezes, clients[0]?.freezeTime),
        back: backTo(subject)
      }
    },
    async perform(visit, subject) {
      const request = { client: nameOnWire(subject), reason: reasonOf(visit) }
      const { client } = await (freezes
        ? visit.operated.grants('freezeClient', request)
        : visit.operated.grants('unfreezeClient', { ...request, freezeTime: shownFreeze(visit) }))
      return { now: clientFacts(visit, client), back: backTo(subject) }
    }
  }
}
