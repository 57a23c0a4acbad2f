import { html, type Html } from './html.js'
import type { GrantDetails, InteractionAddress } from './identity-provider.js'
import { type AskedForWords, describeRequest } from './plain-words.js'

/** Maximum length of a client's name that is shown, in characters. */
const NAME_LENGTH_MAX = 60
/** Characters that are invisible, or change the order in which others are displayed. */
const UNSEEN = /[\p{C}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]+/gu

/** The client. */
export interface AskingClient {
  /** The name that it gave itself; undefined when it gave none. */
  readonly name: string | undefined
  /** URL of its wallet address; undefined when unknown. */
  readonly uri: string | undefined
}

/** The page that asks the account holder. */
export function consentPage(options: {
  readonly client: AskingClient
  readonly details: GrantDetails
  readonly address: InteractionAddress
  readonly proof: string
}): Html {
  const { client, details, address, proof } = options
  return document(
    'Your consent',
    html`<header class="who">
        <h1>${clientTitle(client)} asks for access to your wallet</h1>
        ${clientAddress(client)}
        <p class="quiet">
          ${client.name === undefined ? 'Check the address' : 'Anyone can choose any name. Check the address'}
          before you accept.
        </p>
        ${askedWallet(details)}
      </header>
      ${describeRequest(details).map(askedFor)}
      <form class="choice" method="post" action="/">
        <input type="hidden" name="interactId" value="${address.interactId}" />
        <input type="hidden" name="nonce" value="${address.nonce}" />
        <input type="hidden" name="proof" value="${proof}" />
        <div class="buttons">
          <button class="decline" name="choice" value="reject">Decline</button>
          <button name="choice" value="accept">Accept</button>
        </div>
        <p class="quiet">Accepting allows exactly what is listed here. Declining has no other effect.</p>
        ${details.expiresAt !== undefined && html`<p class="quiet">You can decide until ${instantWords(details.expiresAt)}.</p>`}
      </form>`
  )
}

/** A page that only shows a message, with a link to continue if there is one. */
export function noticePage(
  title: string,
  sentences: readonly string[],
  next?: { href: string; words: string }
): Html {
  return document(
    title,
    html`<div class="notice">
      <h1>${title}</h1>
      ${sentences.map((sentence) => html`<p>${sentence}</p>`)}
      ${next !== undefined && html`<p><a href="${next.href}">${next.words}</a></p>`}
    </div>`
  )
}

/** A client's name for display: without invisible characters, on one line, shortened. Undefined when nothing is left. */
export function presentableName(name: string | undefined): string | undefined {
  const characters = Array.from((name ?? '').replace(UNSEEN, ' ').replace(/\s+/g, ' ').trim())
  if (characters.length === 0) return undefined
  return characters.length <= NAME_LENGTH_MAX
    ? characters.join('')
    : `${characters.slice(0, NAME_LENGTH_MAX - 1).join('')}…`
}

function clientTitle({ name }: AskingClient): Html {
  return name === undefined ? html`Someone without a name` : html`“<bdi>${name}</bdi>”`
}

function clientAddress({ uri }: AskingClient): Html {
  return html`<p class="client">
    <span class="label">Address of who asks</span>
    ${uri === undefined ? 'not known' : html`<span class="address">${webAddress(uri)}</span>`}
  </p>`
}

/** The account holder whose consent is needed. A page with a login would ask only them. */
function askedWallet({ walletAddress }: GrantDetails): Html | false {
  if (typeof walletAddress !== 'string') return false
  return html`<p class="client wallet">
    <span class="label">Wallet that is asked</span>
    <span class="address">${webAddress(walletAddress)}</span>
    <span class="label">Decline unless this wallet is yours.</span>
  </p>`
}

const INSTANT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })

/** The page runs no script, so it cannot know the reader's time zone. */
function instantWords(instant: Date): string {
  return `${INSTANT.format(instant)} UTC`
}

/** A URL with its host in bold, which shows whose it is. International names are shown as `xn--`. */
function webAddress(text: string): Html {
  const url = /^https?:\/\//i.test(text) ? parseUrl(text) : undefined
  if (url === undefined) return html`<bdi>${text.replace(UNSEEN, '�')}</bdi>`
  const { protocol, host, pathname, search, hash } = url
  const path = `${pathname}${search}${hash}`
  return html`<bdi
    ><span class="rest">${protocol}//</span><strong>${host}</strong>${path === '/' ? '' : path}</bdi
  >`
}

/** Not `URL.canParse`: in Node 20, after many calls, it refuses every host with a letter such as ü. */
function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

function askedFor({ title, amount, warning, facts }: AskedForWords): Html {
  return html`<section class="asked">
    <h2>${title}</h2>
    ${
      amount !== undefined && html`<p class="figure">${amount.figure}<small>${amount.explanation}</small></p>`
    }
    ${warning !== undefined && html`<p class="warning">${warning}</p>`}
    <dl>
      ${facts.map(
        ([name, words, kind]) =>
          html`<dt>${name}</dt>
            ${kind === 'address' ? html`<dd class="address">${webAddress(words)}</dd>` : html`<dd>${words}</dd>`}`
      )}
    </dl>
  </section>`
}

const MARK = html`<svg
  viewBox="0 0 24 24"
  fill="none"
  stroke="currentColor"
  stroke-width="1.8"
  aria-hidden="true"
>
  <rect x="3" y="6" width="18" height="13" rx="3" />
  <path d="M3 10h18M15.5 14.5h2" stroke-linecap="round" />
</svg>`

function document(title: string, content: Html): Html {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} · Your wallet</title>
        <link rel="icon" href="/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/style.css" />
      </head>
      <body>
        <main>
          <p class="brand">${MARK} Your wallet</p>
          <article class="card">${content}</article>
        </main>
      </body>
    </html>`
}
