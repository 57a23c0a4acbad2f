import type { JSX } from 'preact'
import type { ChangeProblem } from '../domain/changes.js'
import type { GrantWords } from '../words/describe-grant.js'
import { type Frame, renderPage } from './layout.js'

/** A field by which less can be allowed. */
export type LessField =
  | {
      readonly kind: 'text'
      readonly name: string
      readonly label: string
      readonly value: string
      readonly isDecimal: boolean
    }
  | { readonly kind: 'tick'; readonly name: string; readonly label: string; readonly isOn: boolean }

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
      {view.isLess && <p class="quiet">{messages.consent.isLess}</p>}
      {words.warnings.length > 0 && (
        <div class="warning">
          {words.warnings.map((text) => (
            <p key={text}>{text}</p>
          ))}
        </div>
      )}
      <Facts words={words} />
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
      <Less frame={frame} view={view} />
    </>
  )
}

function Facts({ words }: { words: GrantWords }): JSX.Element {
  return (
    <dl>
      {words.facts.map(({ label, value, remark }, place) => (
        <div key={place}>
          <dt>{label}</dt>
          <dd>
            <bdi>{value}</bdi>
            {remark !== undefined && (
              <small>
                <bdi>{remark}</bdi>
              </small>
            )}
          </dd>
        </div>
      ))}
    </dl>
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
  if (field.kind === 'tick')
    return (
      <label class="tick">
        <input type="checkbox" name={field.name} checked={field.isOn} />
        <span>{field.label}</span>
      </label>
    )
  return (
    <>
      <label for={field.name}>{field.label}</label>
      <input
        type="text"
        id={field.name}
        name={field.name}
        value={field.value}
        inputMode={field.isDecimal ? 'decimal' : 'numeric'}
        autoComplete="off"
      />
    </>
  )
}

function Hidden({ fields }: { fields: readonly (readonly [string, string])[] }): JSX.Element {
  return (
    <>
      {fields.map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
    </>
  )
}
