import { type ServerState, UnfitServer } from './server-state.js'

/** A connection that can be given up at once. */
interface Connection {
  /** Ends it: what it has not answered fails with the error. */
  giveUp(error: Error): void
}

/**
 * Which primary the connections of a database lead to. One that was frozen or cut off does not know of its successor: it still answers,
 * with what was true before, and whatever it commits is gone once it finds out.
 *
 * A database that was copied or restored into a new system, as by an upgrade, has timelines of its own.
 */
export class Succession {
  readonly #connections = new Map<Connection, ServerState>()
  #newest: ServerState | undefined

  /**
   * Takes note of a new connection. If it leads to a successor, those to the former primary are given up.
   *
   * @throws UnfitServer when it leads to a former primary
   */
  add(connection: Connection, server: ServerState): void {
    if (this.#newest !== undefined && isOlder(server, this.#newest)) throw superseded()
    this.#newest = server
    for (const [one, to] of this.#connections) if (isOlder(to, server)) one.giveUp(superseded())
    this.#connections.set(connection, server)
  }

  /** The connection has ended. */
  remove(connection: Connection): void {
    this.#connections.delete(connection)
  }
}

function isOlder(one: ServerState, other: ServerState): boolean {
  return one.system === other.system && (one.timeline ?? '') < (other.timeline ?? '')
}

function superseded(): UnfitServer {
  return new UnfitServer('another server took the place of this primary of the database', '25006')
}
