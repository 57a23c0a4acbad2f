import type { ComponentChildren, JSX } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { LANGUAGES, type Language, type Speech } from '../words/languages.js'
import type { Brand } from './brand.js'

/** What surrounds every page. */
export interface Frame {
  readonly brand: Brand
  readonly speech: Speech
  /** Who is signed in; undefined when nobody is, or where that does not matter. */
  readonly person?: { readonly name: string; readonly formToken: string } | undefined
  /** Path of the first page, which the name of the provider leads to; it leads nowhere without. */
  readonly home?: string | undefined
  /** Path of this page, for the links to other languages; none without. */
  readonly path?: string | undefined
}

/** A whole page. Whatever it contains is escaped. */
export function renderPage(frame: Frame, title: string, content: ComponentChildren): string {
  return `<!doctype html>${renderToString(<Page frame={frame} title={title} content={content} />)}`
}

function Page(props: { frame: Frame; title: string; content: ComponentChildren }): JSX.Element {
  const { brand, speech, home } = props.frame
  const { messages, language } = speech
  return (
    <html lang={language}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{`${props.title} – ${brand.name}`}</title>
        <link rel="stylesheet" href="/style.css" />
        {brand.hasLogo && <link rel="icon" href="/logo.svg" type="image/svg+xml" />}
      </head>
      <body>
        <a class="skip" href="#content">
          {messages.layout.skip}
        </a>
        <header>
          {home === undefined ? (
            <BrandName brand={brand} />
          ) : (
            <a href={home}>
              <BrandName brand={brand} />
            </a>
          )}
        </header>
        <main id="content">
          <div class="card">{props.content}</div>
        </main>
        <footer>
          <SignOut frame={props.frame} />
          <Languages frame={props.frame} />
        </footer>
      </body>
    </html>
  )
}

function BrandName({ brand }: { brand: Brand }): JSX.Element {
  return (
    <>
      {brand.hasLogo ? <img src="/logo.svg" alt="" /> : <span class="mark" aria-hidden="true" />}
      <span>{brand.name}</span>
    </>
  )
}

/** Who is signed in, and how to sign out; nothing where nobody is. */
export function SignOut({ frame: { person, speech } }: { frame: Frame }): JSX.Element | null {
  if (person === undefined) return null
  const { layout } = speech.messages
  return (
    <form method="post" action="/sign-out">
      <input type="hidden" name="token" value={person.formToken} />
      <bdi>{layout.signedInAs(person.name)}</bdi> <button class="link">{layout.signOut}</button>
    </form>
  )
}

/** This page in other languages; nothing where it has no path. */
export function Languages({ frame: { path, speech } }: { frame: Frame }): JSX.Element | null {
  if (path === undefined) return null
  const others = (Object.keys(LANGUAGES) as Language[]).filter((each) => each !== speech.language)
  return (
    <nav aria-label={speech.messages.otherLanguage}>
      {others.map((each) => (
        <a
          key={each}
          lang={each}
          hreflang={each}
          href={`/language?${new URLSearchParams({ set: each, to: path }).toString()}`}
        >
          {LANGUAGES[each].languageName}
        </a>
      ))}
    </nav>
  )
}
