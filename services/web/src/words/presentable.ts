/** Longest name that is shown, in characters. */
const NAME_LENGTH_MAX = 60
/** Longest description that is shown, in characters. */
const TEXT_LENGTH_MAX = 200

/** Controls, also those of direction, and what cannot be seen. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]+/gu

/** A name that somebody chose, on one line and not too long, and without signs that would change the text around it. */
export function presentableName(name: string): string {
  return presentable(name, NAME_LENGTH_MAX)
}

/** The same for a description, which may be longer. */
export function presentableText(text: string): string {
  return presentable(text, TEXT_LENGTH_MAX)
}

function presentable(text: string, lengthMax: number): string {
  const seen = text.replace(UNSEEN, ' ').replace(/\s+/g, ' ').trim()
  const characters = Array.from(seen)
  return characters.length <= lengthMax ? seen : `${characters.slice(0, lengthMax - 1).join('')}…`
}

/** The host of a URL, in ASCII: letters that look like others show as `xn--`. With a port that is not the usual one. */
export function domainOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : presentableName(url)
}

/** A wallet address as people know it: without its scheme. */
export function addressOf(url: string): string {
  if (!URL.canParse(url)) return presentableName(url)
  const { host, pathname } = new URL(url)
  return presentableText(`${host}${pathname === '/' ? '' : pathname}`)
}
