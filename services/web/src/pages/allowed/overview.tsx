import type { JSX } from 'preact'
import type { AllowedState } from '../../domain/allowed.js'
import type { AllowedWords, Spending } from '../../words/describe-allowed.js'
import type { Speech } from '../../words/languages.js'
import { type Frame, renderPage } from '../layout.js'

/** A grant in a list. */
export interface AllowedEntry {
  /** Of its own page. */
  readonly path: string
  readonly state: AllowedState
  readonly words: AllowedWords
}

/** Grants under a title. */
export interface AllowedSection {
  readonly title: string
  readonly entries: readonly AllowedEntry[]
  /** Of the page with older ones; undefined on the last. */
  readonly nextPath: string | undefined
}

/** All that somebody allows now. */
export function overviewPage(
  frame: Frame,
  view: {
    readonly sections: readonly AllowedSection[]
    readonly hasWallets: boolean
    readonly isLaterPage: boolean
  }
): string {
  const { allowed: words } = frame.speech.messages
  const { sections, hasWallets, isLaterPage } = view
  return renderPage(
    frame,
    words.title,
    <>
      <h1>{words.title}</h1>
      {sections.length > 0 && <p class="quiet">{words.intro}</p>}
      {sections.length === 0 && <p>{hasWallets ? words.none : words.noAccount}</p>}
      {sections.map(({ title, entries, nextPath }) => (
        <section key={title}>
          <h2>{title}</h2>
          <Entries entries={entries} speech={frame.speech} heading="h3" />
          <Older path={nextPath} label={words.older} />
        </section>
      ))}
      {isLaterPage && (
        <p>
          <a href="/">{words.newest}</a>
        </p>
      )}
      <nav class="more" aria-label={words.title}>
        <a href="/ended">{words.endedLink}</a>
      </nav>
      <Downloads speech={frame.speech} />
    </>
  )
}

/** All that somebody no longer allows. */
export function endedPage(
  frame: Frame,
  view: {
    readonly entries: readonly AllowedEntry[]
    readonly nextPath: string | undefined
    readonly isLaterPage: boolean
  }
): string {
  const { allowed: words } = frame.speech.messages
  return renderPage(
    frame,
    words.endedTitle,
    <>
      <p class="back">
        <a href="/">{words.back}</a>
      </p>
      <h1>{words.endedTitle}</h1>
      <p class="quiet">{view.entries.length === 0 ? words.endedNone : words.endedIntro}</p>
      <Entries entries={view.entries} speech={frame.speech} heading="h2" />
      <Older path={view.nextPath} label={words.older} />
      {view.isLaterPage && (
        <p>
          <a href="/ended">{words.newest}</a>
        </p>
      )}
    </>
  )
}

function Entries({
  entries,
  speech,
  heading: Heading
}: {
  entries: readonly AllowedEntry[]
  speech: Speech
  heading: 'h2' | 'h3'
}): JSX.Element | null {
  if (entries.length === 0) return null
  return (
    <ul class="entries">
      {entries.map(({ path, state, words }) => (
        <li key={path} class={state}>
          <div class="entry-head">
            <Heading>
              <a href={path}>
                <bdi>{words.client}</bdi>
              </a>
            </Heading>
            <StateMark state={state} text={words.mark} />
          </div>
          {words.claimed !== undefined && (
            <p class="claimed">
              <bdi>{words.claimed}</bdi>
            </p>
          )}
          <p class="entry-headline">
            <bdi>{words.summary}</bdi>
          </p>
          <SpendingBars spending={words.spending} label={speech.messages.allowed.facts.spent} />
          <p class="quiet small">
            {[...words.remarks, words.lastUse].map((text, place) => (
              <span key={place}>{text}</span>
            ))}
          </p>
        </li>
      ))}
    </ul>
  )
}

/** A state, as a mark. */
export function StateMark({ state, text }: { state: AllowedState; text: string }): JSX.Element {
  return <span class={`mark-of ${state}`}>{text}</span>
}

/** How far limits are used. */
export function SpendingBars({
  spending,
  label
}: {
  spending: readonly Spending[]
  label: string
}): JSX.Element {
  return (
    <>
      {spending.map(({ text, share, remark }, place) => (
        <div class="spending" key={place}>
          {share !== undefined && (
            <progress max={100} value={share} aria-label={label}>
              {text}
            </progress>
          )}
          <p>
            <span>{text}</span>
            {remark !== undefined && <span class="quiet">{remark}</span>}
          </p>
        </div>
      ))}
    </>
  )
}

/** A link to older entries; nothing where there are none. */
export function Older({ path, label }: { path: string | undefined; label: string }): JSX.Element | null {
  if (path === undefined) return null
  return (
    <p>
      <a class="button second" href={path}>
        {label}
      </a>
    </p>
  )
}

function Downloads({ speech }: { speech: Speech }): JSX.Element {
  const { downloads } = speech.messages.allowed
  const files = [
    ['allowed', downloads.grants],
    ['payments', downloads.payments]
  ] as const
  return (
    <section class="downloads">
      <h2>{downloads.title}</h2>
      <ul>
        {files.map(([name, label]) => (
          <li key={name}>
            <span>{label}</span>
            <DownloadLinks path={`/downloads/${name}`} label={label} />
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Links to a file in both kinds. */
export function DownloadLinks({ path, label }: { path: string; label: string }): JSX.Element {
  return (
    <span class="files">
      {(['csv', 'json'] as const).map((kind) => (
        <a key={kind} href={`${path}.${kind}`} aria-label={`${label}: ${kind.toUpperCase()}`} download>
          {kind.toUpperCase()}
        </a>
      ))}
    </span>
  )
}
