import { type Frame, renderPage } from './layout.js'

/** The first page of an operator who is signed in. */
export function consolePage(frame: Frame, roles: readonly string[]): string {
  const { console: words, home } = frame.speech.messages
  const title = words.title(frame.person?.name ?? home.someone)
  return renderPage(
    frame,
    title,
    <>
      <h1>
        <bdi>{title}</bdi>
      </h1>
      <dl>
        <div>
          <dt>{words.roles}</dt>
          <dd>{roles.length === 0 ? words.noRole : frame.speech.formats.list(roles)}</dd>
        </div>
      </dl>
    </>
  )
}
