import { createHash } from 'node:crypto'
import type { ErrorBody, HttpRequest } from '@open-payments-server/http-server'
import type { InteractionEnd } from '../domain/errors.js'

/** The content of a page: a title, and sentences. Only fixed texts, so nothing needs escaping. */
interface Words {
  readonly title: string
  readonly sentences: readonly string[]
}

const START_AGAIN = 'Start again from the site that sent you here.'
const DO_NOT_TRUST =
  'If somebody sent you the link, do not trust it. If not, start again from the site that sent you here.'

const NOT_FOUND: Words = {
  title: 'This link does not work',
  sentences: ['It is not complete, or what it led to is gone.', START_AGAIN]
}

/** By the error's code. */
const WORDS: Readonly<Record<string, Words>> = {
  invalid_interaction: {
    title: 'This request cannot be opened here',
    sentences: [
      'It is over, or it was opened in another browser first.',
      'If you have it open in another browser, go on there; if it was this browser a moment ago, reload this page.',
      DO_NOT_TRUST
    ]
  },
  invalid_request: {
    title: 'This browser cannot finish the request',
    sentences: [
      'A request ends in the browser in which it was opened and agreed to. Nothing was passed on.',
      DO_NOT_TRUST
    ]
  }
}

/** For the browser in which an interaction ended, by how it ended. */
const ENDED: Readonly<Record<InteractionEnd, Words>> = {
  accepted: {
    title: 'You accepted this request already',
    sentences: [
      'Your choice was recorded. If the site that asked you does not go on, start again from there.'
    ]
  },
  declined: {
    title: 'You declined this request already',
    sentences: [
      'Your choice was recorded. If you want to go on after all, start again from the site that asked you.'
    ]
  },
  expired: {
    title: 'This request has expired',
    sentences: ['It waited too long for an answer. Nothing was agreed to.', START_AGAIN]
  }
}

const UNAVAILABLE: Words = {
  title: 'Please try again',
  sentences: ['Your wallet cannot be reached right now. Nothing was done.', 'Reload this page in a moment.']
}

const OTHERWISE: Words = { title: 'This cannot go on', sentences: [START_AGAIN] }

const STYLE =
  ':root{color-scheme:light dark}body{margin:0;font:1rem/1.5 system-ui,sans-serif}main{max-width:34rem;margin:0 auto;padding:3rem 1.5rem}' +
  'h1{font-size:1.5rem;line-height:1.25;margin:0 0 1rem}p{margin:0 0 .6rem}'

/** The content security policy source that allows the style of these pages, and no other. */
export const PAGE_STYLE_SOURCE = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`

/** The end of an interaction, for people whose client did not request a redirect. */
const DONE: Readonly<Record<'approved' | 'denied', Words>> = {
  approved: {
    title: 'You accepted this request',
    sentences: ['The site that asked you goes on by itself.', 'You can close this page.']
  },
  denied: {
    title: 'You declined this request',
    sentences: ['Nothing was agreed to.', 'You can close this page.']
  }
}

/** The same as pages, and as texts, by what was decided. */
export const DONE_ANSWERS = { approved: doneAnswer(DONE.approved), denied: doneAnswer(DONE.denied) }

function doneAnswer(words: Words): { readonly page: string; readonly text: string } {
  return { page: page(words), text: [`${words.title}.`, ...words.sentences].join(' ') }
}

/**
 * An error as a page, for people who follow the link of an interaction.
 *
 * @returns undefined for everyone else: programs, and requests that do not prefer a page
 */
export function errorPage(request: HttpRequest, status: number, { error }: ErrorBody): string | undefined {
  if (!request.path.startsWith('/interact/') || request.accepts(['json', 'html']) !== 'html') return undefined
  if (status >= 500 || status === 429) return page(UNAVAILABLE)
  if (status === 404) return page(NOT_FOUND)
  return page(endWords(error) ?? WORDS[error.code] ?? OTHERWISE)
}

function endWords({ details }: ErrorBody['error']): Words | undefined {
  const end = details?.interaction
  return end === 'accepted' || end === 'declined' || end === 'expired' ? ENDED[end] : undefined
}

function page({ title, sentences }: Words): string {
  const paragraphs = sentences.map((sentence) => `<p>${sentence}</p>`).join('')
  return (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">' +
    '<meta name="viewport" content="width=device-width, initial-scale=1">' +
    `<title>${title}</title><style>${STYLE}</style></head><body><main><h1>${title}</h1>${paragraphs}</main></body></html>`
  )
}
