import { ConfigurationError } from '@open-payments-server/runtime/configuration'
import {
  AmountError,
  ASSET_CODE_LENGTH_MAX,
  parseRate,
  type Rate,
  RATE_ONE
} from '@open-payments-server/value-types/amounts'
import type { RateProvider } from '../../domain/rates.js'
import { type DirectedRate, findGainfulCycle } from './gainful-cycle.js'

/** `SOURCE/TARGET=rate` */
const ENTRY = /^([^/=\s]+)\/([^/=\s]+)=(\S+)$/

/**
 * Rates from a table in the configuration, such as `USD/EUR=0.92,EUR/USD=1.08`. Each direction is independent, but no cycle
 * through several assets may end with more than it began with.
 *
 * @param text the table; undefined for none
 * @throws ConfigurationError naming EXCHANGE_RATES and the entry that is wrong, or the cycle that gains
 */
export function createRateTable(text: string | undefined): RateProvider {
  const rates = new Map<string, Rate>()
  const directed: DirectedRate[] = []
  for (const entry of (text ?? '').split(',').map((part) => part.trim())) {
    if (entry === '') continue
    const { source, target, rate } = parseEntry(entry)
    const pair = `${source}/${target}`
    if (rates.has(pair)) throw malformed(entry, `the rate ${pair} is given twice`)
    rates.set(pair, rate)
    directed.push({ source, target, rate })
  }
  const cycle = findGainfulCycle(directed)
  if (cycle !== undefined) {
    throw new ConfigurationError([
      `EXCHANGE_RATES: going round ${cycle.join(' → ')} ends with more than it began with: its rates multiply to more than 1`
    ])
  }
  return {
    getRate: (source, target) =>
      Promise.resolve(source.code === target.code ? RATE_ONE : rates.get(`${source.code}/${target.code}`))
  }
}

function parseEntry(entry: string): DirectedRate {
  const [, source = '', target = '', rateText = ''] = ENTRY.exec(entry) ?? []
  if (source === '') throw malformed(entry, 'expected SOURCE/TARGET=rate')
  if (Math.max(source.length, target.length) > ASSET_CODE_LENGTH_MAX) {
    throw malformed(entry, `asset codes have at most ${String(ASSET_CODE_LENGTH_MAX)} characters`)
  }
  if (source === target) throw malformed(entry, 'assets of the same code are one to one')
  try {
    return { source, target, rate: parseRate(rateText) }
  } catch (error) {
    if (error instanceof AmountError) throw malformed(entry, error.message)
    throw error
  }
}

function malformed(entry: string, reason: string): ConfigurationError {
  return new ConfigurationError([
    `EXCHANGE_RATES: ${reason} in "${entry.slice(0, 100)}". Example: EXCHANGE_RATES=USD/EUR=0.92,EUR/USD=1.08`
  ])
}
