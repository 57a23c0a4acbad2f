import type { Notice } from '../words/messages.js'
import { type Frame, renderPage } from './layout.js'

/** A way on from a page. */
export interface WayOn {
  readonly label: string
  /** Path here, or the auth server's URL. */
  readonly to: string
}

/** A page that says that something is as it is. */
export function noticePage(frame: Frame, notice: Notice, wayOn?: WayOn): string {
  const { title, sentences } = frame.speech.messages.notices[notice]
  return renderPage(
    frame,
    title,
    <>
      <h1>{title}</h1>
      {sentences.map((text) => (
        <p key={text}>{text}</p>
      ))}
      {wayOn && (
        <p class="actions">
          <a class="button primary" href={wayOn.to}>
            {wayOn.label}
          </a>
        </p>
      )}
    </>
  )
}
