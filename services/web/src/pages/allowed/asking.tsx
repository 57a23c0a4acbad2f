import type { JSX } from 'preact'
import type { AllowedWords } from '../../words/describe-allowed.js'
import { type Frame, renderPage } from '../layout.js'
import { Hidden, type TextField, Typed, Warning } from '../parts.js'
import { SpendingBars } from './overview.js'

type Fields = readonly (readonly [string, string])[]

/** Fields about one access item. */
export interface LowerGroup {
  /** What the item allows; undefined where there is only one. */
  readonly title: string | undefined
  readonly fields: readonly TextField[]
}

/** Asks how much less somebody wants to allow. */
export function lowerPage(
  frame: Frame,
  view: {
    readonly path: string
    readonly words: AllowedWords
    readonly hidden: Fields
    readonly groups: readonly LowerGroup[]
    /** What is wrong with all of it; undefined when nothing is. */
    readonly problem: string | undefined
  }
): string {
  const { lowering, facts } = frame.speech.messages.allowed
  const title = lowering.title(view.words.client)
  return renderPage(
    frame,
    title,
    <>
      <h1>
        <bdi>{title}</bdi>
      </h1>
      {view.problem !== undefined && (
        <div role="alert">
          <Warning texts={[view.problem]} />
        </div>
      )}
      <p>
        <bdi>{view.words.headline}</bdi>
      </p>
      <SpendingBars spending={view.words.spending} label={facts.spent} />
      <p>{lowering.intro}</p>
      <form method="post" action={`${view.path}/lower`}>
        <Hidden fields={view.hidden} />
        {view.groups.map((group, place) => (
          <Group key={place} group={group} />
        ))}
        <div class="actions">
          <button class="primary">{lowering.button}</button>
          <a class="button second" href={view.path}>
            {lowering.back}
          </a>
        </div>
      </form>
    </>
  )
}

function Group({ group: { title, fields } }: { group: LowerGroup }): JSX.Element {
  const typed = fields.map((field) => <Typed key={field.name} field={field} />)
  if (title === undefined) return <>{typed}</>
  return (
    <fieldset>
      <legend>
        <bdi>{title}</bdi>
      </legend>
      {typed}
    </fieldset>
  )
}

/** Asks whether somebody means to stop a grant, and says what that is. */
export function stopPage(
  frame: Frame,
  view: { readonly path: string; readonly words: AllowedWords; readonly hidden: Fields }
): string {
  const { stopping } = frame.speech.messages.allowed
  const title = stopping.title(view.words.client)
  return renderPage(
    frame,
    title,
    <>
      <h1>
        <bdi>{title}</bdi>
      </h1>
      <p>
        <bdi>{view.words.headline}</bdi>
      </p>
      <ul class="means">
        {stopping.means(view.words.client).map((text) => (
          <li key={text}>
            <bdi>{text}</bdi>
          </li>
        ))}
      </ul>
      <form method="post" action={`${view.path}/stop`} class="actions">
        <Hidden fields={view.hidden} />
        <button class="danger">{stopping.button}</button>
        <a class="button second" href={view.path}>
          {stopping.back}
        </a>
      </form>
    </>
  )
}

/** Says that an act may not be in force everywhere, and lets it be repeated. */
export function unsurePage(
  frame: Frame,
  view: {
    /** Of the page of the grant. */
    readonly path: string
    /** Where the form goes. */
    readonly action: string
    readonly hidden: Fields
  }
): string {
  const { meanwhile } = frame.speech.messages.allowed
  const { title } = frame.speech.messages.notices.unavailable
  return renderPage(
    frame,
    title,
    <>
      <h1>{title}</h1>
      <p>{meanwhile.unsure}</p>
      <form method="post" action={view.action} class="actions">
        <Hidden fields={view.hidden} />
        <button class="primary">{meanwhile.repeat}</button>
        <a class="button second" href={view.path}>
          {meanwhile.look}
        </a>
      </form>
    </>
  )
}
