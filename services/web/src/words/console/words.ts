import type { Language } from '../languages.js'
import { de } from './de.js'
import { en } from './en.js'

/** What a word or a sentence of the console is called. */
export type ConsoleWord = keyof typeof en

const WORDS: Readonly<Record<Language, Readonly<Record<ConsoleWord, string>>>> = { en, de }

/** A word or a sentence of the console, with values in it. */
export type ConsoleWords = (word: ConsoleWord, ...values: readonly string[]) => string

/** The words of the console in a language. */
export function consoleWords(language: Language): ConsoleWords {
  const words = WORDS[language]
  return (word, ...values) =>
    words[word].replace(/\{(\d)\}/g, (_, place: string) => values[Number(place)] ?? '')
}
