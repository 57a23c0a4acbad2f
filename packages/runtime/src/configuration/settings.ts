import { isIP } from 'node:net'
import { z } from 'zod'
import { splitDatabaseUrl } from './database-url.js'
import { splitRedisUrl } from './redis-url.js'
import { Secret } from './secret.js'

/** The description of a setting, for the reference page and error messages. */
export interface SettingMeta {
  /** What it is for, in a sentence or two, with its unit. */
  readonly description: string
  /** A value that would be accepted. */
  readonly example: string
  /** Whether its value must not be printed. Such a setting may also be given as `<NAME>_FILE`, the path of a file. */
  readonly secret?: boolean
  /** A regular expression that every accepted value matches, for who checks settings before there is a service. */
  readonly pattern?: string
}

const TRUE_WORDS = ['true', '1', 'yes', 'on']
const FALSE_WORDS = ['false', '0', 'no', 'off']
/** As {@link flag} reads them, in any case of letters. Some readers of patterns know no flag for that. */
const FLAG_PATTERN = `^(${[...TRUE_WORDS, ...FALSE_WORDS].map(inAnyCase).join('|')})$`
const WHOLE_NUMBER = /^\d{1,15}$/
const RATIO = /^(?:0(?:\.\d{1,10})?|1(?:\.0{1,10})?)$/
const PORT_MAX = 65_535
const SECRET_LENGTH_MIN = 16
/**
 * Characters of URIs (RFC 3986 §2), except those with a meaning in patterns, and those that Node quotes in certificates'
 * names.
 */
const URI_NAME = /^[a-z][a-z0-9+.-]*:[\w.~:/?#[\]@!$&()+;=%-]+$/i
const DNS_NAME = /^[a-z0-9_](?:[a-z0-9._-]*[a-z0-9])?$/i

/** An http or https URL without credentials, query or fragment. */
export function url(meta: SettingMeta) {
  return z
    .string()
    .refine(isPlainUrl, { message: 'expected an http or https URL without credentials, query or fragment' })
    .meta(documented(meta))
}

/**
 * The URL of a grant endpoint. If it has a path, it ends with a slash: some clients add one and sign the URL with it, and the
 * proxy that removes the path hides from the service whether there was one.
 */
export function grantEndpoint(meta: SettingMeta) {
  return z
    .string()
    .refine((text) => isPlainUrl(text) && new URL(text).pathname.endsWith('/'), {
      message:
        'expected an http or https URL without credentials, query or fragment, whose path ends with a slash, such as https://wallet.example/auth/'
    })
    .meta(documented(meta))
}

/** Origins, such as `https://wallet.example`, separated by commas. */
export function origins(meta: SettingMeta) {
  return z
    .string()
    .transform((text) => text.split(',').map((origin) => origin.trim()))
    .refine((origins) => origins.every(isOrigin), {
      message: 'expected origins such as https://wallet.example separated by commas'
    })
    .transform((origins): readonly string[] => origins.map((origin) => new URL(origin).origin))
    .meta(documented(meta))
}

/** URL of a Redis, on one host or several. Secret, as it may carry a password. */
export function redisUrl(meta: SettingMeta) {
  return z
    .string()
    .refine((text) => splitRedisUrl(text) !== undefined, {
      message:
        'expected a URL such as rediss://user:password@host:6379; several hosts are separated by commas'
    })
    .transform((text) => new Secret(text))
    .meta(documented({ ...meta, secret: true }))
}

/** URL of a PostgreSQL database, on one host or several. Secret, as it may carry a password. */
export function databaseUrl(meta: SettingMeta) {
  return z
    .string()
    .refine((text) => splitDatabaseUrl(text) !== undefined, {
      message:
        'expected a URL such as postgresql://user@host:5432/name; with several hosts, separated by commas, also target_session_attrs=read-write'
    })
    .transform((text) => new Secret(text))
    .meta(documented({ ...meta, secret: true }))
}

/** Free text. */
export function text(meta: SettingMeta) {
  return z.string().min(1, { message: 'must not be empty' }).meta(documented(meta))
}

/** A secret of at least 16 characters. */
export function secret(meta: SettingMeta) {
  return z
    .string()
    .min(SECRET_LENGTH_MIN, { message: `expected at least ${String(SECRET_LENGTH_MIN)} characters` })
    .transform((value) => new Secret(value))
    .meta(documented({ ...meta, secret: true }))
}

/** Secrets of at least 16 characters each, separated by commas. */
export function secretList(meta: SettingMeta) {
  const expected = `expected values of at least ${String(SECRET_LENGTH_MIN)} characters, separated by commas`
  return z
    .string()
    .transform((text) => text.split(',').map((value) => value.trim()))
    .refine((values) => values.every((value) => value.length >= SECRET_LENGTH_MIN), { message: expected })
    .transform((values) => new Secret<readonly string[]>(values))
    .meta(documented({ ...meta, secret: true }))
}

/** A whole number within bounds. */
export function wholeNumber(meta: SettingMeta, bounds: { min: number; max: number }) {
  const expected = `expected a whole number from ${String(bounds.min)} to ${String(bounds.max)}`
  return z
    .string()
    .regex(WHOLE_NUMBER, { message: expected })
    .transform(Number)
    .refine((value) => value >= bounds.min && value <= bounds.max, { message: expected })
    .meta(documented({ ...meta, pattern: WHOLE_NUMBER.source }))
}

/** A decimal number from 0 to 1. */
export function ratio(meta: SettingMeta) {
  return z
    .string()
    .regex(RATIO, { message: 'expected a number from 0 to 1' })
    .transform(Number)
    .meta(documented({ ...meta, pattern: RATIO.source }))
}

const PAIRS_EXPECTED = 'expected name=value separated by commas, values percent-encoded'

/** Names and values, `name=value` separated by commas. */
export function pairs(meta: SettingMeta) {
  return z
    .string()
    .transform((text) => parsePairs(text))
    .refine((value) => value !== undefined, { message: PAIRS_EXPECTED })
    .meta(documented(meta))
}

/** The same, as a secret: unparsed, for {@link parsePairs}. */
export function secretPairs(meta: SettingMeta) {
  return z
    .string()
    .refine((text) => parsePairs(text) !== undefined, { message: PAIRS_EXPECTED })
    .transform((text) => new Secret(text))
    .meta(documented({ ...meta, secret: true }))
}

/** A TCP port; 0 lets the system choose. */
export function port(meta: SettingMeta) {
  return wholeNumber(meta, { min: 0, max: PORT_MAX })
}

/** A switch: true or false. */
export function flag(meta: SettingMeta) {
  return z
    .string()
    .transform((value) => value.toLowerCase())
    .refine((value) => TRUE_WORDS.includes(value) || FALSE_WORDS.includes(value), {
      message: 'expected true or false'
    })
    .transform((value) => TRUE_WORDS.includes(value))
    .meta(documented({ ...meta, pattern: FLAG_PATTERN }))
}

/** Proxies in front: how many, or their addresses and networks separated by commas. */
export function proxies(meta: SettingMeta) {
  return z
    .string()
    .transform((value) => parseProxies(value))
    .refine((value) => value !== undefined, {
      message:
        'expected how many proxies there are, or addresses and networks such as 10.0.0.0/8 separated by commas'
    })
    .meta(documented(meta))
}

/** Addresses and networks, such as `10.0.0.0/8`, separated by commas. */
export function networks(meta: SettingMeta) {
  return z
    .string()
    .transform((text): readonly string[] => text.split(',').map((network) => network.trim()))
    .refine((list) => list.every(isNetwork), {
      message: 'expected addresses and networks such as 10.0.0.0/8 separated by commas'
    })
    .meta(documented(meta))
}

/** One of some words. */
export function oneOf<const Words extends readonly [string, ...string[]]>(meta: SettingMeta, words: Words) {
  const pattern = `^(${words.join('|')})$`
  return z
    .enum(words, { message: `expected one of ${words.join(', ')}` })
    .meta(documented({ ...meta, pattern }))
}

/** Names of clients in their certificates, URIs and DNS names, separated by commas. They are compared whole. */
export function clientNames(meta: SettingMeta) {
  return z
    .string()
    .transform((text) => text.split(',').map((name) => name.trim()))
    .refine((names) => names.every((name) => URI_NAME.test(name) || DNS_NAME.test(name)), {
      message: 'expected URIs and DNS names separated by commas, each whole: * stands for nothing'
    })
    .transform((names): readonly string[] =>
      names.map((name) => (name.includes(':') ? name : name.toLowerCase()))
    )
    .meta(documented(meta))
}

/** A name of a header, of an attribute, or of a member of baggage (RFC 9110 §5.6.2). */
const PAIR_NAME = /^[\w!#$%&'*+.^`|~-]+$/

/**
 * Reads names and values as the OpenTelemetry specification writes them.
 *
 * @returns undefined for what cannot be read
 */
export function parsePairs(text: string): Readonly<Record<string, string>> | undefined {
  const pairs = text.split(',').map((pair): readonly [string, string | undefined] => {
    const separator = pair.indexOf('=')
    return [pair.slice(0, Math.max(separator, 0)).trim(), decoded(pair.slice(separator + 1).trim())]
  })
  const isReadable = pairs.every(([name, value]) => PAIR_NAME.test(name) && value !== undefined)
  return isReadable ? (Object.fromEntries(pairs) as Record<string, string>) : undefined
}

/** Percent-decoded; undefined if invalid, or if it contains what no header may contain. */
function decoded(text: string): string | undefined {
  try {
    const value = decodeURIComponent(text)
    return /^[\t\x20-\x7e\u00a0-\u{10ffff}]*$/u.test(value) ? value : undefined
  } catch {
    return undefined
  }
}

function documented({ description, example, secret = false, pattern }: SettingMeta): {
  description: string
  examples: string[]
  secret: boolean
  pattern: string | undefined
} {
  return { description, examples: [example], secret, pattern }
}

function inAnyCase(word: string): string {
  return word.replaceAll(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`)
}

function isPlainUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const url = new URL(text)
  return (
    (url.protocol === 'http:' || url.protocol === 'https:') &&
    url.username === '' &&
    url.password === '' &&
    url.search === '' &&
    url.hash === ''
  )
}

function isOrigin(text: string): boolean {
  return isPlainUrl(text) && new URL(text).pathname === '/'
}

/** More proxies than any request passes. */
const PROXIES_MAX = 10

function parseProxies(value: string): number | string[] | undefined {
  if (/^\d{1,2}$/.test(value)) return Number(value) <= PROXIES_MAX ? Number(value) : undefined
  const networks = value.split(',').map((network) => network.trim())
  return networks.every(isNetwork) ? networks : undefined
}

function isNetwork(text: string): boolean {
  const [address = '', prefix, ...others] = text.split('/')
  const bits = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0
  if (bits === 0 || others.length > 0) return false
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) >= 1 && Number(prefix) <= bits)
}
