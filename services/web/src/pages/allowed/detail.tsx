import type { JSX } from 'preact'
import type { ActKind, AllowedState } from '../../domain/allowed.js'
import type { AllowedWords } from '../../words/describe-allowed.js'
import type { PaymentWords } from '../../words/describe-payment.js'
import type { Fact } from '../../words/fact.js'
import type { Speech } from '../../words/languages.js'
import { type Frame, renderPage } from '../layout.js'
import { Facts, Hidden, Warning } from '../parts.js'
import { DownloadLinks, Older, SpendingBars, StateMark } from './overview.js'

/** An act in words. */
export interface ActWords {
  readonly kind: ActKind
  readonly title: string
  readonly when: string
  readonly who: string
  readonly changes: readonly { readonly before: string; readonly after: string }[]
  /** Of its receipt. */
  readonly path: string
}

/** What the page of a grant is made of. */
export interface DetailView {
  /** Of this page. */
  readonly path: string
  readonly state: AllowedState
  readonly words: AllowedWords
  readonly facts: readonly Fact[]
  readonly payments: readonly PaymentWords[]
  /** Of the page with older payments; undefined on the last. */
  readonly olderPath: string | undefined
  readonly acts: readonly ActWords[]
  /** Fields of the forms that pause and resume. */
  readonly pauseFields: readonly (readonly [string, string])[]
  readonly resumeFields: readonly (readonly [string, string])[]
  /** Whether somebody else consented to it. */
  readonly isConsentOfAnother: boolean
  /** Whether it can be stopped, whatever its state. */
  readonly isStoppable: boolean
  /** Whether it has limits or an end that can be lowered. */
  readonly canLower: boolean
  /** What is otherwise than the page said on which somebody acted; undefined when nothing is. */
  readonly meanwhile: string | undefined
}

/** A grant with everything of it. */
export function detailPage(frame: Frame, view: DetailView): string {
  const { allowed: words } = frame.speech.messages
  return renderPage(
    frame,
    view.words.headline,
    <>
      <p class="back">
        <a href={view.state === 'ended' ? '/ended' : '/'}>
          {view.state === 'ended' ? words.endedTitle : words.back}
        </a>
      </p>
      {view.meanwhile !== undefined && (
        <div role="alert">
          <Warning texts={[view.meanwhile]} />
        </div>
      )}
      <h1>
        <bdi>{view.words.headline}</bdi>
      </h1>
      <p class="state-line">
        <StateMark state={view.state} text={view.words.mark} />
        {view.words.remarks.map((text) => (
          <span class="quiet" key={text}>
            {text}
          </span>
        ))}
      </p>
      <SpendingBars spending={view.words.spending} label={words.facts.spent} />
      <p class="quiet small">{view.words.lastUse}</p>
      {view.state !== 'ended' && <Acts view={view} speech={frame.speech} />}
      {view.state === 'ended' && view.isStoppable && <StopEnded view={view} speech={frame.speech} />}
      <Payments view={view} speech={frame.speech} />
      <History view={view} speech={frame.speech} />
      <section>
        <h2>{words.detailTitle}</h2>
        <Facts facts={view.facts} />
        {!view.isConsentOfAnother && (
          <p>
            <a href={`${view.path}/receipt`}>{words.receiptLink}</a>
          </p>
        )}
      </section>
    </>
  )
}

function Acts({ view, speech }: { view: DetailView; speech: Speech }): JSX.Element {
  const { allowed: words } = speech.messages
  const isPaused = view.state === 'paused'
  const means = isPaused ? words.resumeMeans : words.pauseMeans
  return (
    <section class="acts" aria-label={words.intro}>
      <p class="quiet small">{view.isConsentOfAnother ? words.pauseOfAnother : means}</p>
      <div class="act-row">
        {!(isPaused && view.isConsentOfAnother) && (
          <form method="post" action={`${view.path}/${isPaused ? 'resume' : 'pause'}`}>
            <Hidden fields={isPaused ? view.resumeFields : view.pauseFields} />
            <button class={isPaused ? 'primary' : 'second'}>{isPaused ? words.resume : words.pause}</button>
          </form>
        )}
        {view.canLower && (
          <a class="button second" href={`${view.path}/lower`}>
            {words.lower}
          </a>
        )}
        <StopLink path={view.path} label={words.stop} />
      </div>
    </section>
  )
}

/** One that has ended by itself can be stopped too: nobody needs to rely on its end. */
function StopEnded({ view, speech }: { view: DetailView; speech: Speech }): JSX.Element {
  const { allowed: words } = speech.messages
  return (
    <section class="acts" aria-label={words.stop}>
      <p class="quiet small">{words.stopEnded}</p>
      <div class="act-row">
        <StopLink path={view.path} label={words.stop} />
      </div>
    </section>
  )
}

function StopLink({ path, label }: { path: string; label: string }): JSX.Element {
  return (
    <a class="button danger" href={`${path}/stop`}>
      {label}
    </a>
  )
}

function Payments({ view, speech }: { view: DetailView; speech: Speech }): JSX.Element {
  const { allowed: words } = speech.messages
  return (
    <section>
      <h2>{words.paymentsTitle}</h2>
      {view.payments.length === 0 && <p class="quiet">{words.noPayments}</p>}
      {view.payments.length > 0 && (
        <ul class="payments">
          {view.payments.map((payment, place) => (
            <PaymentEntry key={place} payment={payment} />
          ))}
        </ul>
      )}
      <Older path={view.olderPath} label={words.older} />
      {view.payments.length > 0 && (
        <p class="quiet small">
          {words.downloads.title}:{' '}
          <DownloadLinks path={`${view.path}/payments`} label={words.paymentsTitle} />
        </p>
      )}
    </section>
  )
}

function PaymentEntry({ payment }: { payment: PaymentWords }): JSX.Element {
  const { amount, payee, address, state, stateWords, when, remarks } = payment
  return (
    <li>
      <div class="payment-head">
        <bdi class="payee">{payee}</bdi>
        <span class="amount">{amount}</span>
      </div>
      <p class="quiet small">
        {address !== undefined && <bdi>{address}</bdi>}
        <span>{when}</span>
        <span class={`payment-state ${state}`}>{stateWords}</span>
      </p>
      {remarks.map((text) => (
        <p class="small" key={text}>
          <bdi>{text}</bdi>
        </p>
      ))}
    </li>
  )
}

function History({ view, speech }: { view: DetailView; speech: Speech }): JSX.Element {
  const { allowed: words } = speech.messages
  return (
    <section>
      <h2>{words.historyTitle}</h2>
      {view.acts.length === 0 && (
        <p class="quiet">{view.isConsentOfAnother ? words.noHistoryOfAnother : words.noHistory}</p>
      )}
      {view.acts.length > 0 && (
        <ol class="history">
          {view.acts.map(({ title, when, who, changes, path }) => (
            <li key={path}>
              <div class="payment-head">
                <strong>{title}</strong>
                <a href={path} aria-label={`${words.receiptLink}: ${title}, ${when}`}>
                  {words.receiptLink}
                </a>
              </div>
              <p class="quiet small">
                <span>{when}</span>
                <bdi>{who}</bdi>
              </p>
              {changes.map(({ before, after }) => (
                <p class="small" key={after}>
                  <del>{before}</del> <ins>{after}</ins>
                </p>
              ))}
            </li>
          ))}
        </ol>
      )}
    </section>
  )
}
