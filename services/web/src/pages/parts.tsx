import type { JSX } from 'preact'
import type { Fact } from '../words/fact.js'

/** Facts beside their labels. Values that strangers chose do not change the direction of what is around them. */
export function Facts({ facts }: { facts: readonly Fact[] }): JSX.Element {
  return (
    <dl>
      {facts.map(({ label, value, remark }, place) => (
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

/** What a form carries that nobody sees. */
export function Hidden({ fields }: { fields: readonly (readonly [string, string])[] }): JSX.Element {
  return (
    <>
      {fields.map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
    </>
  )
}

/** Something that people must not overlook; nothing without texts. */
export function Warning({ texts }: { texts: readonly string[] }): JSX.Element | null {
  if (texts.length === 0) return null
  return (
    <div class="warning">
      {texts.map((text) => (
        <p key={text}>{text}</p>
      ))}
    </div>
  )
}

/** A field that is typed into, with what is wrong with it. */
export interface TextField {
  readonly kind: 'text' | 'date'
  readonly name: string
  readonly label: string
  readonly value: string
  /** Whether its keyboard has a decimal sign. */
  readonly isDecimal?: boolean
  /** What is wrong with what was typed. */
  readonly problem?: string | undefined
}

/** A field with its label. */
export function Typed({ field }: { field: TextField }): JSX.Element {
  const { kind, name, label, value, isDecimal = false, problem } = field
  const error = problem === undefined ? undefined : `${name}-problem`
  const shared = {
    id: name,
    ...{ name, value },
    autoComplete: 'off',
    'aria-invalid': problem === undefined ? undefined : true,
    'aria-describedby': error
  }
  return (
    <div class="field">
      <label for={name}>{label}</label>
      {problem !== undefined && (
        <p class="problem" id={error}>
          {problem}
        </p>
      )}
      {kind === 'date' ? (
        <input type="date" {...shared} />
      ) : (
        <input type="text" inputMode={isDecimal ? 'decimal' : 'numeric'} {...shared} />
      )}
    </div>
  )
}
