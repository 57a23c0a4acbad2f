import type { Schema } from './descriptions.js'

/**
 * Names the members of a value that its schema does not describe, at any depth: most published schemas are open, and would
 * let anything slip out.
 *
 * @returns paths such as `result.0.internalId`
 */
export function undescribedMembers(schema: Schema, value: unknown): string[] {
  return membersBeyond([schema], value, [])
}

function membersBeyond(schemas: readonly Schema[], value: unknown, path: readonly string[]): string[] {
  const branches = schemas.flatMap(allBranches)
  if (Array.isArray(value)) {
    const items = branches.flatMap(({ items: item }) => (isSchema(item) ? [item] : []))
    return value.flatMap((element, index) => membersBeyond(items, element, [...path, String(index)]))
  }
  if (typeof value !== 'object' || value === null || branches.some(isOpenByIntent)) return []
  return Object.entries(value).flatMap(([name, member]) => {
    const described = branches.flatMap(({ properties }) => {
      const property = isSchema(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined
      return isSchema(property) ? [property] : []
    })
    const memberPath = [...path, name]
    return described.length === 0 ? [memberPath.join('.')] : membersBeyond(described, member, memberPath)
  })
}

/** A schema and everything it combines. */
function allBranches(schema: Schema): Schema[] {
  const combined = [schema.allOf, schema.anyOf, schema.oneOf].flatMap((branches) =>
    Array.isArray(branches) ? branches.filter(isSchema) : []
  )
  return [schema, ...combined.flatMap(allBranches)]
}

/** Whether a schema explicitly allows additional members, rather than merely not forbidding them. */
function isOpenByIntent(schema: Schema): boolean {
  return schema.additionalProperties === true
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
