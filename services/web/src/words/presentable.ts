/** Longest name that is shown, in characters. */
const LENGTH_MAX = 60

/** Controls, also those of direction, and what cannot be seen. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]+/gu

/** A name that somebody chose, on one line and not too long, and without signs that would change the text around it. */
export function presentableName(name: string): string {
  const seen = name.replace(UNSEEN, ' ').replace(/\s+/g, ' ').trim()
  const characters = Array.from(seen)
  return characters.length <= LENGTH_MAX ? seen : `${characters.slice(0, LENGTH_MAX - 1).join('')}…`
}

/** The host of a URL, in ASCII: letters that look like others show as `xn--`. With a port that is not the usual one. */
export function domainOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : presentableName(url)
}

/** A wallet address as people know it: without its scheme. */
export function addressOf(url: string): string {
  if (!URL.canParse(url)) return presentableName(url)
  const { host, pathname } = new URL(url)
  return `${host}${pathname === '/' ? '' : pathname}`
}
