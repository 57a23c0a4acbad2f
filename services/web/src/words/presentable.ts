/** Longest name that is shown, in characters. */
const NAME_LENGTH_MAX = 60
/** Longest description that is shown, in characters. */
const TEXT_LENGTH_MAX = 200

/** Controls, also those of direction, and what cannot be seen, also where Unicode calls it a letter or a sign. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\u115f\u1160\u2800\u3164\uffa0]+/gu

/** Quotation marks that are double, or look so, because several stand together. Apostrophes stay. */
const QUOTATION_MARKS = /['‘’‚‛′]*["“”„‟«»＂″‶〝〞〟❝❞]['‘’‚‛′"“”„‟«»＂″‶〝〞〟❝❞]*|['‘’‚‛′]{2,}/gu

/** Marks that would be written over what is in front of the text. */
const MARKS_WITHOUT_LETTER = /^[\s\p{M}]+/u

/** More marks on one letter than any language writes: four are needed in Burmese, and in Hebrew with its accents. */
const TOO_MANY_MARKS = /(\p{M}{4})\p{M}+/gu
/** The same for marks of no script of their own, and those around a letter. Of those that people write, NFC leaves two at most. */
const TOO_MANY_ACCENTS = /([\p{Script=Inherited}\p{Me}]{2})[\p{Script=Inherited}\p{Me}]+/gu

/** A name that somebody chose, on one line and not too long, and without signs that would change the text around it. */
export function presentableName(name: string): string {
  return presentable(name, NAME_LENGTH_MAX)
}

/** The same for a description, which may be longer. */
export function presentableText(text: string): string {
  return presentable(text, TEXT_LENGTH_MAX)
}

/** The same for what somebody decides about: as long as it is. */
export function presentableWhole(text: string): string {
  return presentable(text, Infinity)
}

function presentable(text: string, lengthMax: number): string {
  const seen = text
    .replace(UNSEEN, ' ')
    .replace(/\s+/g, ' ')
    .normalize('NFC')
    .replace(QUOTATION_MARKS, "'")
    .replace(MARKS_WITHOUT_LETTER, '')
    .replace(TOO_MANY_MARKS, '$1')
    .replace(TOO_MANY_ACCENTS, '$1')
  return cut(seen.trim(), lengthMax)
}

function cut(text: string, lengthMax: number): string {
  const characters = Array.from(text)
  return characters.length <= lengthMax ? text : `${characters.slice(0, lengthMax - 1).join('')}…`
}

/** The host of a URL, in ASCII: letters that look like others show as `xn--`. With a port that is not the usual one. */
export function domainOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : presentableName(url)
}

/**
 * A wallet address as people know it: without its scheme. Clients, too, are named by it: those who share a host have nothing but
 * their path to tell them apart. The host is whole, however long it is.
 */
export function addressOf(url: string): string {
  if (!URL.canParse(url)) return presentableName(url)
  const { host, pathname } = new URL(url)
  // In ASCII already.
  return `${host}${pathname === '/' ? '' : cut(pathname, TEXT_LENGTH_MAX)}`
}
