import { type Frame, renderPage } from './layout.js'

/** The first page of an account holder who is signed in. */
export function homePage(frame: Frame): string {
  const { home } = frame.speech.messages
  const title = home.title(frame.person?.name ?? home.someone)
  return renderPage(
    frame,
    title,
    <>
      <h1>
        <bdi>{title}</bdi>
      </h1>
      <p>{home.text}</p>
    </>
  )
}
