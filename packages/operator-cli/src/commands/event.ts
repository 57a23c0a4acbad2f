import { Command, Option } from 'commander'
import { limitOption } from '../arguments.js'
import { EVENTFUL_SERVICES, type EventfulService } from '../eventful-service.js'
import type { OperatorEvent } from '../event-client.js'
import { instantText, type Printer } from '../output.js'
import type { RunSession } from '../session.js'

interface ListOptions {
  readonly service: EventfulService
  readonly after?: string
  readonly limit: number
}

/** `event list | watch` */
export function eventCommand(run: RunSession): Command {
  const event = new Command('event').description('what happened, exactly as it was committed')
  event
    .command('list')
    .description('list events of a service, the oldest first')
    .addOption(
      new Option('--service <service>', 'the service that tells of them')
        .choices(EVENTFUL_SERVICES)
        .makeOptionMandatory()
    )
    .option('--after <cursor>', 'only events after this cursor, which comes with each event')
    .addOption(limitOption())
    .action((options: ListOptions, command: Command) =>
      run(command, async ({ client, print }) => {
        const { items, more, resync } = await client.events.list(options.service, {
          after: options.after,
          limit: options.limit
        })
        if (resync === 'events_lost')
          print.note(
            'The database lost events after this cursor, as in a restore: what was read may be wrong.'
          )
        if (resync === 'events_expired')
          print.note('Events after this cursor are no longer kept: some are missing here.')
        print.list(items, {
          name: 'later events',
          columns: [
            ['Time', ({ time }) => instantText(time)],
            ['Type', ({ type }) => type],
            ['Subject', ({ subject }) => subject]
          ],
          json: eventJson
        })
        if (more) print.note('There are more events: ask for them with --after, or a higher --limit.')
      })
    )
  event
    .command('watch')
    .description('print events of both services as they happen, one a line, until interrupted')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ client, print, awaitInterruption }) => {
        const interrupted = awaitInterruption()
        await Promise.all(
          EVENTFUL_SERVICES.map(async (service) => {
            for await (const item of client.events.watch(service, interrupted)) printEvent(print, item)
          })
        )
      })
    )
  return event
}

function printEvent(print: Printer, event: OperatorEvent): void {
  print.line(eventJson(event), `${instantText(event.time)}  ${event.type.padEnd(28)}  ${event.subject}`)
}

function eventJson(event: OperatorEvent): object {
  return { ...event, time: instantText(event.time), sequence: Number(event.sequence) }
}
