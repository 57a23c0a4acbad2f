import type { HttpRequest, HttpResponse } from '@open-payments-server/http-server'
import { type AmountWire, formatAmount, parseAmount } from '@open-payments-server/value-types/amounts'
import type { AllowedGrant, GrantAct, LowerTerms } from '../../domain/allowed.js'
import { isPaying } from '@open-payments-server/value-types/intervals'
import { readTypedAmount } from '../../domain/typed-amount.js'
import { type LowerGroup, lowerPage } from '../../pages/allowed/asking.js'
import type { TextField } from '../../pages/parts.js'
import type { LowerProblem } from '../../words/allowed-messages.js'
import { describeAllowed } from '../../words/describe-allowed.js'
import { amountWords } from '../../words/describe-item.js'
import type { Speech } from '../../words/languages.js'
import { TOKEN_FIELD } from '../forms.js'
import { sendPage } from '../site.js'
import { sendEnded, sendOutcome } from './acts.js'
import {
  type AllowedDependencies,
  allowedFrame,
  describeReceivers,
  findHeldGrant,
  formPurpose,
  type HeldGrant,
  isAsSeen,
  pathOf,
  repeatedAct,
  requireHeldGrant,
  seenOf,
  takeHeldForm
} from './someone.js'

/** Longest text of a field that is looked at, in characters: the largest amount has 275. */
const VALUE_LENGTH_MAX = 300

/** What somebody wants to lower, and what is wrong with it, by the name of the field; `''` for all of it. */
interface Wanted {
  readonly typed: URLSearchParams
  readonly problems: ReadonlyMap<string, LowerProblem>
}

/** `GET /allowed/:id/lower` */
export async function askToLower(
  dependencies: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse
): Promise<void> {
  const held = await requireHeldGrant(dependencies, request, response)
  if (held === undefined) return
  if (held.grant.state === 'ended') await sendEnded(dependencies, request, response, held)
  else await sendForm(dependencies, request, response, held)
}

/** `POST /allowed/:id/lower` */
export async function takeLower(
  dependencies: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse
): Promise<void> {
  const { site, grants } = dependencies
  const form = { act: 'lower', page: `${pathOf(request.param('id'))}/lower` }
  const taken = await takeHeldForm(dependencies, request, response, form)
  if (taken === undefined) return
  const { held, fields: typed } = taken
  const { session } = held.someone
  if (held.grant.state === 'ended') {
    await sendEnded(dependencies, request, response, held)
    return
  }
  const refuse = (of: HeldGrant, problems: Wanted['problems']): Promise<void> =>
    sendForm(dependencies, request, response, of, { typed, problems })
  const repeated = repeatedAct(held, 'lowered', typed)
  if (!isAsSeen(held, typed) && repeated === undefined) {
    await refuse(held, CHANGED)
    return
  }
  const { speech } = allowedFrame(dependencies, request, session)
  const shown = repeated === undefined ? held : beforeAct(held, repeated)
  const { terms, problems } = readTerms(shown, typed, speech, site.clock.now())
  if (problems.size > 0) {
    await refuse(held, problems)
    return
  }
  const outcome = await grants.lower(held.acting, held.grant.id, terms)
  if (outcome !== 'refused') {
    await sendOutcome(dependencies, request, response, { held, kind: 'lowered', outcome, fields: typed })
    return
  }
  const now = await findHeldGrant(dependencies, request, response, session)
  if (now !== undefined) await refuse(now, CHANGED)
}

const CHANGED: Wanted['problems'] = new Map([['', 'changed']])

/** A grant as its page showed it before an act lowered it. */
function beforeAct(held: HeldGrant, { before }: GrantAct): HeldGrant {
  const { grant } = held
  const items = grant.items.map((each, place) => ({ ...each, item: before.access[place] ?? each.item }))
  return { ...held, grant: { ...grant, items, endsAtMs: before.endsAtMs } }
}

async function sendForm(
  dependencies: AllowedDependencies,
  request: HttpRequest,
  response: HttpResponse,
  held: HeldGrant,
  wanted: Wanted = {
    typed: new URLSearchParams(request.query as Record<string, string>),
    problems: new Map()
  }
): Promise<void> {
  const { site } = dependencies
  const { grant, someone } = held
  const { session } = someone
  const frame = allowedFrame(dependencies, request, session)
  const receivers = await describeReceivers(dependencies, [grant])
  const { problems } = frame.speech.messages.allowed.lowering
  const problem = wanted.problems.get('')
  const page = lowerPage(frame, {
    path: pathOf(grant.id),
    words: describeAllowed(grant, receivers, frame.speech, site.clock.now()),
    hidden: [
      [TOKEN_FIELD, site.sessions.formToken(session, formPurpose('lower', grant.id))],
      ['seen', seenOf(held)]
    ],
    groups: groupsOf(held, wanted, frame.speech),
    problem: problem && problems[problem]
  })
  sendPage(response, wanted.problems.size === 0 ? 200 : problem === 'changed' ? 409 : 400, page)
}

/** The asset of the wallet; undefined when it is not known. */
function assetOf({ someone, grant }: HeldGrant): { code: string; scale: number } | undefined {
  return someone.wallets.find(({ url }) => url === grant.walletAddress)?.asset
}

function groupsOf(held: HeldGrant, { typed, problems }: Wanted, speech: Speech): LowerGroup[] {
  const { messages, formats } = speech
  const { lowering } = messages.allowed
  const { grant } = held
  const problemOf = (name: string): string | undefined => {
    const problem = problems.get(name)
    return problem && lowering.problems[problem]
  }
  const field = (kind: TextField['kind'], name: string, label: string, value: string): TextField => ({
    ...{ kind, name, label, isDecimal: kind === 'text' },
    value: (typed.get(name) ?? value).slice(0, VALUE_LENGTH_MAX),
    problem: problemOf(name)
  })
  const paying = grant.items.map(({ item }, place) => ({ item, place })).filter(({ item }) => isPaying(item))
  const groups = paying.map(({ item, place }): LowerGroup => {
    const { debitAmount, receiveAmount } = item.limits ?? {}
    const code = debitAmount?.assetCode ?? assetOf(held)?.code
    return {
      title: paying.length === 1 ? undefined : amountWords(item, speech),
      fields: [
        ...(code === undefined
          ? []
          : [
              field(
                'text',
                `debit-${String(place)}`,
                debitAmount === undefined
                  ? lowering.amountNone(code)
                  : lowering.amount(code, formats.amount(debitAmount)),
                debitAmount === undefined ? '' : formats.plainAmount(debitAmount)
              )
            ]),
        ...(receiveAmount === undefined
          ? []
          : [
              field(
                'text',
                `receive-${String(place)}`,
                lowering.receive(receiveAmount.assetCode, formats.amount(receiveAmount)),
                formats.plainAmount(receiveAmount)
              )
            ])
      ]
    }
  })
  const { endsAtMs } = grant
  const end = field(
    'date',
    'end',
    lowering.end(endsAtMs === undefined ? undefined : formats.until(endsAtMs)),
    endsAtMs === undefined ? '' : formats.plainDay(endsAtMs)
  )
  return [...groups, { title: undefined, fields: [end] }]
}

function readTerms(
  held: HeldGrant,
  typed: URLSearchParams,
  speech: Speech,
  nowMs: number
): { readonly terms: LowerTerms; readonly problems: Wanted['problems'] } {
  const problems = new Map<string, LowerProblem>()
  const amountOf = (name: string, inForce: AmountWire | undefined): AmountWire | undefined => {
    const read = readAmount(typed.get(name)?.trim() ?? '', inForce ?? zeroOf(held), {
      hasLimit: inForce !== undefined,
      decimalSign: speech.messages.decimalSign
    })
    if (typeof read !== 'string') return read
    problems.set(name, read)
    return undefined
  }
  const limits = held.grant.items
    .map(({ item }, place) => ({ item, place }))
    .filter(({ item }) => isPaying(item))
    .map(({ item, place }) => ({
      place,
      debitAmount: amountOf(`debit-${String(place)}`, item.limits?.debitAmount),
      receiveAmount:
        item.limits?.receiveAmount === undefined
          ? undefined
          : amountOf(`receive-${String(place)}`, item.limits.receiveAmount)
    }))
    .filter(({ debitAmount, receiveAmount }) => debitAmount !== undefined || receiveAmount !== undefined)
  const endsAtMs = readEnd(typed.get('end') ?? '', held.grant, speech, nowMs)
  if (typeof endsAtMs === 'string') problems.set('end', endsAtMs)
  else if (limits.length === 0 && endsAtMs === undefined && problems.size === 0) problems.set('', 'nothing')
  return { terms: { limits, endsAtMs: typeof endsAtMs === 'string' ? undefined : endsAtMs }, problems }
}

/** Nothing, in the asset of the wallet. */
function zeroOf(held: HeldGrant): AmountWire | undefined {
  const asset = assetOf(held)
  return asset && { value: '0', assetCode: asset.code, assetScale: asset.scale }
}

/** @returns undefined where nothing changes */
function readAmount(
  text: string,
  inForce: AmountWire | undefined,
  { hasLimit, decimalSign }: { readonly hasLimit: boolean; readonly decimalSign: '.' | ',' }
): AmountWire | 'amount' | 'higher' | undefined {
  if (text === '' || inForce === undefined) return undefined
  const now = parseAmount(inForce)
  const wanted = readTypedAmount(text, now.asset, decimalSign)
  if (wanted === undefined) return 'amount'
  if (hasLimit && wanted.value === now.value) return undefined
  if (wanted.value === 0n) return 'amount'
  return hasLimit && wanted.value > now.value ? 'higher' : formatAmount(wanted)
}

/** @returns undefined where nothing changes */
function readEnd(
  day: string,
  { endsAtMs }: AllowedGrant,
  { formats }: Speech,
  nowMs: number
): number | 'end' | 'later' | undefined {
  if (day === '' || (endsAtMs !== undefined && day === formats.plainDay(endsAtMs))) return undefined
  const endMs = formats.endOfDay(day)
  if (endMs === undefined || endMs <= nowMs) return 'end'
  return endsAtMs !== undefined && endMs > endsAtMs ? 'later' : endMs
}
