import { de } from './de.js'
import { en } from './en.js'
import { createFormats, type Formats } from './formats.js'
import type { Messages } from './messages.js'

/** The languages of the pages. */
export const LANGUAGES = { en, de } as const satisfies Readonly<Record<string, Messages>>

export type Language = keyof typeof LANGUAGES

/** A language with everything that is written in it. */
export interface Speech {
  readonly language: Language
  readonly messages: Messages
  readonly formats: Formats
}

/** Whether there are pages in a language. */
export function isLanguage(text: string | undefined): text is Language {
  return text !== undefined && Object.hasOwn(LANGUAGES, text)
}

/** @param timeZone in which dates are shown (IANA) */
export function speak(language: Language, timeZone: string): Speech {
  const messages = LANGUAGES[language]
  return { language, messages, formats: createFormats(language, timeZone, messages.decimalSign) }
}

/** The first language of `Accept-Language` that there is, by weight (RFC 9110 §12.5.4); English otherwise. */
export function preferredLanguage(accepted: string | undefined): Language {
  const ranges = (accepted ?? '').split(',').map((range, place) => {
    const [tag = '', ...parameters] = range.trim().toLowerCase().split(';')
    const weight = parameters
      .map((each) => /^\s*q=([\d.]+)$/.exec(each)?.[1])
      .find((each) => each !== undefined)
    return { language: tag.split('-')[0], weight: Number(weight ?? '1'), place }
  })
  const [best] = ranges
    .filter(({ language, weight }) => isLanguage(language) && weight > 0)
    .sort((one, other) => other.weight - one.weight || one.place - other.place)
  return isLanguage(best?.language) ? best.language : 'en'
}
