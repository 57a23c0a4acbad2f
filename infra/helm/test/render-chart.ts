import { type KubernetesObject, parseObjects } from '@open-payments-server/kubernetes'

type Scope = Readonly<Record<string, unknown>>

/**
 * Renders templates as Helm would, as far as this chart goes: values, `toJson`, `if`, `range` over a map, and braces that are to
 * stay. Anything else is an error, so that the templates stay within what is tested.
 */
export function renderTemplates(templates: readonly string[], scope: Scope): KubernetesObject[] {
  return templates.flatMap((template) => parseObjects(renderTemplate(template, scope)))
}

const ACTION = /\s*\{\{-\s*(.+?)\s*\}\}|\{\{\s*(.+?)\s*\}\}/

/** The text that one template becomes. */
export function renderTemplate(template: string, scope: Scope): string {
  const [text, rest] = renderBlock(template, scope)
  if (rest !== '') throw new Error('an end without a beginning')
  return text
}

/**
 * Renders up to the end of the block that the template begins in, and answers what comes after that, too. Without a scope,
 * that is all.
 */
function renderBlock(template: string, scope: Scope | undefined): [text: string, rest: string] {
  let text = ''
  let rest = template
  for (;;) {
    const found = ACTION.exec(rest)
    if (found === null) return [text + rest, '']
    text += rest.slice(0, found.index)
    rest = rest.slice(found.index + found[0].length)
    const action = found[1] ?? found[2] ?? ''
    if (action === 'end') return [text, rest]
    if (/^(if|range) /.test(action)) {
      for (const inner of scope === undefined ? [] : scopesOf(action, scope))
        text += renderBlock(rest, inner)[0]
      rest = renderBlock(rest, undefined)[1]
    } else if (scope !== undefined) {
      text += evaluate(action, scope)
    }
  }
}

/** What a block is rendered with: once or not at all for `if`, and for each entry, by its name, for `range`. */
function scopesOf(action: string, scope: Scope): Scope[] {
  const condition = /^if (\.\S+)$/.exec(action)?.[1]
  if (condition !== undefined) return lookUp(condition, scope) === true ? [scope] : []
  const range = /^range \$name, \$value := (\.\S+)$/.exec(action)?.[1]
  if (range === undefined) throw new Error(`not understood: ${action}`)
  return Object.entries(lookUp(range, scope) as object)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([$name, $value]) => ({ ...scope, $name, $value }))
}

function evaluate(action: string, scope: Scope): string {
  if (action === '"{{"') return '{{'
  const [, path, toJson] = /^([.$]\S+)( \| toJson)?$/.exec(action) ?? []
  if (path === undefined) throw new Error(`not understood: ${action}`)
  const value = lookUp(path, scope)
  return toJson === undefined ? String(value) : JSON.stringify(value)
}

function lookUp(path: string, scope: Scope): unknown {
  const names = path.startsWith('$') ? [path] : path.slice(1).split('.')
  const value = names.reduce<unknown>((place, name) => (place as Scope | undefined)?.[name], scope)
  if (value === undefined) throw new Error(`there is no ${path}`)
  return value
}
