import { type Attributes, context, SpanKind, trace } from '@opentelemetry/api'
import { endFailedSpan, isTraced } from '@open-payments-server/runtime'
import { isSubmittable, LimitedClient, type Query } from './limited-client.js'
import { summarize } from './summarize.js'

const tracer = trace.getTracer('@open-payments-server/database')

type Callback = (error: unknown, result: unknown) => void

/**
 * A connection whose statements are spans when they belong to a recorded trace. A span has the name of the statement, or
 * its operation and table, but not its text or values.
 */
export class TracedClient extends LimitedClient {
  constructor(config?: ConstructorParameters<typeof LimitedClient>[0]) {
    super(config)
    // `pg` distinguishes its overloads by their arguments; so does this.
    const query = this.query.bind(this) as Query
    this.query = tracing(query) as typeof this.query
  }
}

function tracing(query: Query): Query {
  return (...parameters) => {
    const [first] = parameters
    if (!isTraced() || isSubmittable(first)) return query(...parameters)
    const span = tracer.startSpan(nameOf(first), { kind: SpanKind.CLIENT, attributes: attributesOf(first) })
    const end = (error: unknown): void => {
      if (error === null || error === undefined) span.end()
      else endFailedSpan(span, errorTypeOf(error))
    }
    const last = parameters.at(-1)
    if (typeof last === 'function') {
      const callback = context.bind(context.active(), last as Callback)
      return query(...parameters.slice(0, -1), (error: unknown, result: unknown) => {
        end(error)
        callback(error, result)
      })
    }
    const answered = query(...parameters) as Promise<unknown>
    answered.then(() => {
      end(undefined)
    }, end)
    return answered
  }
}

function nameOf(first: unknown): string {
  if (typeof first === 'string') return summarize(first)
  const { name, text } = first as { name?: string; text?: string }
  return name === undefined || name === '' ? summarize(text ?? '') : name
}

function attributesOf(first: unknown): Attributes {
  return { 'db.system.name': 'postgresql', 'db.query.summary': nameOf(first) }
}

/** PostgreSQL's SQLSTATE, or the code of the connection's failure. */
function errorTypeOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown }
  if (typeof code === 'string') return code
  return typeof name === 'string' ? name : 'unknown'
}
