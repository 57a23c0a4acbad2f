import type { JSX } from 'preact'
import type { ChangeProblem } from '../domain/changes.js'
import type { GrantWords } from '../words/describe-grant.js'
import type { Fact } from '../words/fact.js'
import { type Frame, renderPage } from './layout.js'
import type { WayOn } from './notice.js'
import { Facts, Hidden, type TextField, Typed, Warning } from './parts.js'

/** A field by which less can be allowed. */
export type LessField =
  TextField | { readonly kind: 'tick'; readonly name: string; readonly label: string; readonly isOn: boolean }

/** What the page is made of. */
export interface ConsentView {
  readonly words: GrantWords
  /** Fields of both forms: which request, with which changes. */
  readonly address: readonly (readonly [string, string])[]
  readonly hidden: readonly (readonly [string, string])[]
  /** What can be less. */
  readonly less: readonly LessField[]
  /** Whether what is shown is less than what was asked. */
  readonly isLess: boolean
  /** Whether it was decided about before, and no answer said that it was recorded. */
  readonly isUnsure: boolean
  readonly problem: ChangeProblem | undefined
  /** Path of what was asked. */
  readonly undoPath: string
}

/** Asks an account holder. */
export function consentPage(frame: Frame, view: ConsentView): string {
  const { words, hidden, problem } = view
  const { messages } = frame.speech
  return renderPage(
    frame,
    words.headline,
    <>
      <h1>{words.headline}</h1>
      {view.isUnsure && (
        <div role="status">
          <Warning texts={[messages.consent.isUnsure]} />
        </div>
      )}
      {view.isLess && <p class="quiet">{messages.consent.isLess}</p>}
      <Warning texts={words.warnings} />
      <Facts facts={words.facts} />
      <p class="quiet">{messages.consent.check}</p>
      <form method="post" action="/consent" class="actions">
        <Hidden fields={hidden} />
        {problem === undefined && (
          <button class="primary" name="choice" value="allow">
            {words.allow}
          </button>
        )}
        <button class="second" name="choice" value="decline">
          {messages.consent.decline}
        </button>
      </form>
      <p class="quiet small later">{messages.consent.later}</p>
      <Less frame={frame} view={view} />
    </>
  )
}

/** A form of its own, which shows the page anew: what is allowed is always what is shown. */
function Less({ frame, view }: { frame: Frame; view: ConsentView }): JSX.Element | null {
  const { consent } = frame.speech.messages
  if (view.less.length === 0) return null
  return (
    <details open={view.isLess || view.problem !== undefined}>
      <summary>{consent.lessTitle}</summary>
      {view.problem && (
        <p class="warning" role="alert">
          {consent.problems[view.problem]}
        </p>
      )}
      <form method="get" action="/consent">
        <Hidden fields={view.address} />
        {view.less.map((field) => (
          <Field key={field.name} field={field} />
        ))}
        <button class="second">{consent.show}</button>
      </form>
      {(view.isLess || view.problem !== undefined) && (
        <p>
          <a href={view.undoPath}>{consent.undo}</a>
        </p>
      )}
    </details>
  )
}

function Field({ field }: { field: LessField }): JSX.Element {
  if (field.kind !== 'tick') return <Typed field={field} />
  return (
    <label class="tick">
      <input type="checkbox" name={field.name} checked={field.isOn} />
      <span>{field.label}</span>
    </label>
  )
}

/** Says what an account holder decided, after they did. */
export function decidedPage(
  frame: Frame,
  view: {
    readonly isAllowed: boolean
    readonly headline: string
    readonly facts: readonly Fact[]
    /** Where what was allowed can be seen and stopped; undefined where there is nothing to stop. */
    readonly grantPath: string | undefined
    /** To the client; undefined when it is told otherwise. */
    readonly wayBack: WayOn | undefined
  }
): string {
  const { consent, allowed } = frame.speech.messages
  const { isAllowed, grantPath, wayBack } = view
  const words = isAllowed ? consent.agreed : consent.declined
  return renderPage(
    frame,
    words.title,
    <>
      <h1>{words.title}</h1>
      {isAllowed ? (
        <p>
          <bdi>{view.headline}</bdi>
        </p>
      ) : (
        <p>{consent.declined.text}</p>
      )}
      {wayBack === undefined && <p>{words.canClose}</p>}
      {isAllowed && <Facts facts={view.facts} />}
      <p class="actions screen">
        {wayBack !== undefined && (
          <a class="button primary" href={wayBack.to}>
            {wayBack.label}
          </a>
        )}
        {isAllowed && grantPath !== undefined && (
          <a class="button second" href={grantPath}>
            {consent.agreed.see}
          </a>
        )}
      </p>
      {isAllowed && grantPath !== undefined && (
        <p class="quiet screen">
          <a href={`${grantPath}/receipt`}>{allowed.receiptLink}</a>. {allowed.receipt.keep}
        </p>
      )}
    </>
  )
}
