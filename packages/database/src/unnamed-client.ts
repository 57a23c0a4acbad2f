import { isSubmittable, type Query } from './limited-client.js'
import { TracedClient } from './traced-client.js'

/**
 * A connection that prepares no statement under a name. Behind a pooler in transaction mode the next statement may reach another
 * session, which does not know the name, or knows another statement by it.
 */
export class UnnamedClient extends TracedClient {
  constructor(config?: ConstructorParameters<typeof TracedClient>[0]) {
    super(config)
    // `pg` tells its forms apart by what it is given; so does this, whatever the overload.
    const query = this.query.bind(this) as Query
    const unnamed: Query = (first, ...rest) => query(withoutName(first), ...rest)
    this.query = unnamed as typeof this.query
  }
}

function withoutName(first: unknown): unknown {
  if (typeof first !== 'object' || first === null || isSubmittable(first)) return first
  return { ...first, name: undefined }
}
