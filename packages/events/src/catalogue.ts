import { z } from 'zod'

/** An amount on the wire. */
export const AMOUNT_SCHEMA = z.strictObject({
  value: z
    .string()
    .regex(/^(?:0|[1-9]\d{0,19})$/)
    .describe('In the smallest unit of the asset.'),
  assetCode: z.string(),
  assetScale: z.int().min(0).max(255)
})

/** What a type of event tells. */
export interface DescribedEvent {
  /** `data` of such an event, but for null, which says that the resource is no longer kept. Unknown members are errors. */
  readonly data: z.ZodObject
  /** What an event could tell: URL of the resource, and its data. */
  readonly example: { readonly subject: string; readonly data: object }
}

/** What each type of event of a service tells: the compiler asks for all. */
export type EventCatalogue<Type extends string> = Readonly<Record<Type, DescribedEvent>>

/** An event as it is told, of any type. */
const ENVELOPE = {
  id: z.uuidv7().describe('The same wherever and however often it is told.'),
  time: z.iso.datetime().describe('When it happened.'),
  subject: z.url().describe('URL of the resource that it tells of.'),
  sequence: z.int().positive().describe('Increases from each event of its subject to the next.'),
  traceparent: z
    .string()
    .regex(/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/)
    .optional()
    .describe('Trace of the statement that committed it (W3C Trace Context).')
}

/** The schema of a told event of one type. Unknown members are errors: published schemas allow them. */
export function schemaOfEvent(type: string, { data }: DescribedEvent): z.ZodObject {
  return z.strictObject({
    id: ENVELOPE.id,
    type: z.literal(type),
    time: ENVELOPE.time,
    subject: ENVELOPE.subject,
    sequence: ENVELOPE.sequence,
    traceparent: ENVELOPE.traceparent,
    data: data.nullable().describe('The resource as its API showed it then; null once it is no longer kept.')
  })
}

/** An event that could be told, with the example of its type. */
export function exampleOfEvent(type: string, { example }: DescribedEvent): object {
  const { subject, data } = example
  return {
    id: '019ab32d-9c00-7a41-8d2e-6b1f0c7d5e93',
    type,
    time: '2026-11-24T09:30:00.000Z',
    subject,
    sequence: 4711,
    traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    data
  }
}

/**
 * Checks a told event against the schema of its type.
 *
 * @throws Error naming what is not as described
 */
export function assertDescribed(
  event: Readonly<Record<string, unknown>> & { readonly type: string },
  catalogue: Readonly<Record<string, DescribedEvent>>
): void {
  const described = catalogue[event.type]
  if (described === undefined) throw new Error(`${event.type} is not described`)
  const checked = schemaOfEvent(event.type, described).safeParse(event)
  if (!checked.success) throw new Error(`${event.type}: ${z.prettifyError(checked.error)}`)
}

/**
 * The JSON Schema (draft 7, which AsyncAPI embeds) of a told event of one type. Members may be added to it later, so readers must pass
 * over those that they do not know.
 */
export function jsonSchemaOfEvent(type: string, described: DescribedEvent): object {
  return z.toJSONSchema(schemaOfEvent(type, described), {
    target: 'draft-7',
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
    }
  })
}

/**
 * The AsyncAPI description (3.0) of all events of a service.
 *
 * @param types each type, and when it happens
 */
export function asyncApiOf<Type extends string>(
  service: string,
  types: Readonly<Record<Type, string>>,
  catalogue: EventCatalogue<Type>
): object {
  const messages = Object.entries<DescribedEvent>(catalogue).map(([type, described]) => {
    const message = {
      name: type,
      title: type,
      summary: types[type as Type],
      contentType: 'application/json',
      payload: jsonSchemaOfEvent(type, described),
      examples: [{ payload: exampleOfEvent(type, described) }]
    }
    return [type, message] as const
  })
  const names = messages.map(([type]) => type)
  return {
    asyncapi: '3.0.0',
    info: {
      title: `Events of the ${service}`,
      version: '1.0.0',
      description:
        'What happened, exactly as it was committed. Types and members are added, never changed or removed.'
    },
    defaultContentType: 'application/json',
    channels: {
      events: {
        description: 'All events, in the order of their commits.',
        messages: Object.fromEntries(names.map((type) => [type, { $ref: `#/components/messages/${type}` }]))
      }
    },
    operations: {
      tell: {
        action: 'send',
        channel: { $ref: '#/channels/events' },
        messages: names.map((type) => ({ $ref: `#/channels/events/messages/${type}` }))
      }
    },
    components: { messages: Object.fromEntries(messages) }
  }
}
