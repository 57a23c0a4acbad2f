import type { Fact } from '../../words/fact.js'
import { type Frame, renderPage } from '../layout.js'
import { Facts } from '../parts.js'

/** Something to keep: what was agreed to, or done. */
export function receiptPage(
  frame: Frame,
  view: {
    readonly title: string
    /** What it means. */
    readonly sentences: readonly string[]
    readonly facts: readonly Fact[]
    /** Of the page of the grant. */
    readonly path: string
  }
): string {
  const { receipt } = frame.speech.messages.allowed
  return renderPage(
    frame,
    view.title,
    <>
      <h1>{view.title}</h1>
      {view.sentences.map((text) => (
        <p key={text}>
          <bdi>{text}</bdi>
        </p>
      ))}
      <Facts facts={view.facts} />
      <p class="quiet screen">{receipt.keep}</p>
      <p class="actions screen">
        <a class="button primary" href={view.path}>
          {receipt.back}
        </a>
      </p>
    </>
  )
}
