// SQL expressions of a row's number, `n`. The same number gives the same values in both databases, so that their rows match.

/** Parameters of the generated rows; they are inserted into SQL. */
export interface GrowthPlan {
  /** Number of payments, each with a grant, a token, a reservation, a quote and an incoming payment. */
  readonly paymentCount: number
  /** Number of wallet addresses that pay and are paid. The first pays and receives every tenth payment. */
  readonly walletCount: number
  /** Origin of wallet addresses and payments, without a trailing slash. */
  readonly resourceServerUrl: string
  /** Clients, each by the URL of its wallet address. */
  readonly clients: readonly string[]
  /** Time of the first payment, in milliseconds since 1970. The others follow evenly until `endMs`. */
  readonly beginMs: number
  readonly endMs: number
}

/** Number of rows of one statement: limits the size of a transaction. */
export const ROWS_PER_STATEMENT = 50_000

const TENTH = 10
const FIFTIETH = 50

/** When payment `n` was made, in milliseconds since 1970. */
const madeAtMs = ({ paymentCount, beginMs, endMs }: GrowthPlan): string =>
  `(${beginMs}::bigint + (n - 1) * ${Math.max(1, Math.floor((endMs - beginMs) / paymentCount))}::bigint)`

/** When payment `n` was made. */
export const madeAt = (plan: GrowthPlan): string => `to_timestamp(${madeAtMs(plan)} / 1000.0)`

/** A UUID (version 7) of row `n`, for the time of its payment, as the services generate them: indexes grow as in production. */
export function uuidOf(kind: string, plan: GrowthPlan): string {
  const digest = `md5('${kind}:' || n)`
  return `(lpad(to_hex(${madeAtMs(plan)}), 12, '0') || '7' || substr(${digest}, 1, 3) || '8' || substr(${digest}, 4, 15))::uuid`
}

/** The wallet, from 0 on, that sends payment `n`. */
export const senderOf = ({ walletCount }: GrowthPlan): string =>
  `(case when n % ${TENTH} = 0 then 0 else n % ${walletCount} end)`

/** The wallet, from 0 on, that receives payment `n`. */
export const receiverOf = ({ walletCount }: GrowthPlan): string =>
  `(case when n % ${TENTH} = 0 then 0 else (n * 7 + 3) % ${walletCount} end)`

/** The client that makes payment `n`. */
export const clientOf = ({ clients }: GrowthPlan): string =>
  `((array[${clients.map((client) => `'${client}'`).join(', ')}])[1 + (n / ${TENTH}) % ${clients.length}])`

/** The receive value of payment `n`. */
export const RECEIVE = '(100 + n % 900)'
/** The fee of payment `n`. */
export const FEE = `(case when n % ${TENTH} = 3 then 5 else 0 end)`
/** The debit value of payment `n`. */
export const DEBIT = `(${RECEIVE} + ${FEE})`
/** Whether payment `n` failed, and so moved nothing. */
export const FAILED = `(n % ${FIFTIETH} = 17)`

/** Path of the wallet address with the rank `expression`. */
export const pathOf = (expression: string): string => `'/grown-' || ${expression}`
