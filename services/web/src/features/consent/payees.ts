import type { Receivers } from '../../domain/payment.js'
import type { DescribedReceivers } from '../../words/describe-item.js'

// What another provider says about its customer is asked for once, when the question is shown. It goes with the form, bound to it, so that
// the words that are signed are those that were read, whatever the provider says by then.

/** Fields of a form by which it carries them: `payee-0` is the wallet address of the first receiver, and so on. */
export type PayeeFields = readonly (readonly [name: string, walletAddress: string])[]

const FIELD = 'payee-'

/**
 * Asks other providers for the wallet addresses of their receivers, once it is known that whoever is asked may decide.
 *
 * @throws ServiceAway
 */
export async function askForPayees(
  known: DescribedReceivers,
  receivers: Receivers
): Promise<DescribedReceivers> {
  const elsewhere = [...known.values()].filter(({ place }) => place === 'elsewhere').map(({ url }) => url)
  if (elsewhere.length === 0) return known
  return new Map([...known, ...(await receivers.describe(elsewhere, { asksProviders: true }))])
}

/** What other providers said, as fields of a form. */
export function payeeFields(receivers: DescribedReceivers): PayeeFields {
  return [...receivers.values()].flatMap(({ place, walletAddress }, index) =>
    place === 'elsewhere' && walletAddress !== ''
      ? [[`${FIELD}${String(index)}`, walletAddress] as const]
      : []
  )
}

/** Fields of a form that are such, as they came. */
export function readPayeeFields(fields: Iterable<readonly [string, string]>): PayeeFields {
  return [...fields].filter(([name]) => name.startsWith(FIELD))
}

/** Receivers as they were described when the question was shown. */
export function asTold(receivers: DescribedReceivers, fields: PayeeFields): DescribedReceivers {
  const told = new Map(fields)
  return new Map(
    [...receivers].map(([url, receiver], index) => {
      const walletAddress = told.get(`${FIELD}${String(index)}`)
      const isTold = receiver.place === 'elsewhere' && walletAddress !== undefined
      return [url, isTold ? { ...receiver, walletAddress } : receiver]
    })
  )
}

/** What a form is for: the decision about this request, with these payees. */
export function purposeOf(interactId: string, payees: PayeeFields): string {
  return JSON.stringify([interactId, ...payees])
}
