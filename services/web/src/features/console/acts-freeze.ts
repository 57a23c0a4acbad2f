import { auth } from '@open-payments-server/proto'
import { OperationRefused } from '../operated.js'
import { accountFacts, findAccount, findWalletAddress, freezeFacts, walletAddressFacts } from './accounts.js'
import { type Act, reasonField, reasonOf } from './act.js'
import { clientFacts } from './grants.js'
import { pathTo } from './show.js'
import type { Visit } from './visit.js'

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
        back: backTo(subject)
      }
    },
    async perform(visit, subject) {
      const method = freezes ? 'freezeAccount' : 'unfreezeAccount'
      const { account } = await visit.operated.wallets(method, {
        accountName: subject,
        reason: reasonOf(visit)
      })
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
        back: backTo(subject)
      }
    },
    async perform(visit, subject) {
      const method = freezes ? 'freezeWalletAddress' : 'unfreezeWalletAddress'
      const request = { walletAddress: subject, reason: reasonOf(visit) }
      const { walletAddress } = await visit.operated.wallets(method, request)
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
        back: backTo(subject)
      }
    },
    async perform(visit, subject) {
      const request = { client: nameOnWire(subject), reason: reasonOf(visit) }
      const method = freezes ? 'freezeClient' : 'unfreezeClient'
      const { client } = await visit.operated.grants(method, request)
      return { now: clientFacts(visit, client), back: backTo(subject) }
    }
  }
}
