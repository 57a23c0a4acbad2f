import type { Mutation, TestReference } from '../mutation.js'

const PUBLISH = 'packages/events/src/publish.ts'
const READ = 'packages/events/src/read.ts'

const CURSOR: TestReference = {
  file: 'services/resource-server/test/event-cursor.test.ts',
  title: 'are each told once, in the order of their resource, and none that was rolled back'
}

/** Every event that was committed is told, once and in its order. */
export const EVENT_GUARDS: readonly Mutation[] = [
  {
    guard: 'events are numbered in the order in which they were appended',
    file: PUBLISH,
    text: 'row_number() over (order by taken.place)',
    broken: 'row_number() over (order by taken.place desc)',
    test: CURSOR
  },
  {
    guard: 'a reader of events that a database lost is told so',
    file: READ,
    text: 'lost.after_number is not null as lost',
    broken: 'false as lost',
    test: {
      file: 'services/resource-server/test/events.test.ts',
      title: 'of lost or expired events is told to read everything anew, and goes on'
    }
  },
  {
    guard: 'a restored dump gives no number that its original gave',
    file: 'packages/events/src/epoch.ts',
    text: '(e.system_identifier, e.database_oid, e.table_oid, e.timeline_id)',
    broken: '(e.system_identifier, e.database_oid, c.table_oid, e.timeline_id)',
    test: {
      file: 'services/resource-server/test/events.test.ts',
      title: 'of lost events is told to read everything anew where the database has another table_oid'
    }
  },
  {
    guard: 'an event is kept until every endpoint has got it',
    file: 'packages/events/src/purge.ts',
    text: ' and e.number <= coalesce((${keptAfter}), e.number) as is_over',
    broken: ' as is_over',
    test: {
      file: 'services/resource-server/test/event-purge.test.ts',
      title: 'events that were not delivered yet are kept, however old they are'
    }
  }
]
