/** Quotes: the amounts of one outgoing payment, usable once. */
export { createQuoteStore, type NewQuote, type QuoteStore, type StoredQuote } from './create.js'
export { expiredQuoteEvents, readToldQuotes } from './events.js'
export { purgeQuotes } from './purge.js'
export { createPayableQuotes, createQuoteReader, type PayableQuotes, rememberQuotes } from './read.js'
