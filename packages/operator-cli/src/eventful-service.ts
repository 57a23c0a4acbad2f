/** The services that tell of events. */
export const EVENTFUL_SERVICES = ['auth-server', 'resource-server'] as const

/** A service that tells of events. */
export type EventfulService = (typeof EVENTFUL_SERVICES)[number]
