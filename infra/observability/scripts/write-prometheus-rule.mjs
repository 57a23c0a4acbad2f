// Writes the rules as an object for the Prometheus operator. A test holds one to the other.
import { readFile, writeFile } from 'node:fs/promises'
import { format, resolveConfig } from 'prettier'
import { parse, stringify } from 'yaml'

const rules = await readFile(new URL('../rules/open-payments.rules.yaml', import.meta.url), 'utf8')
const target = new URL('../../kubernetes/base/prometheus-rules.yaml', import.meta.url)
const object = {
  apiVersion: 'monitoring.coreos.com/v1',
  kind: 'PrometheusRule',
  metadata: { name: 'open-payments' },
  spec: parse(rules)
}
const head =
  '# Made from infra/observability/rules by infra/observability/scripts/write-prometheus-rule.mjs. Do not edit it.\n'
const style = await resolveConfig(target)
await writeFile(
  target,
  await format(`${head}${stringify(object, { lineWidth: 0, blockQuote: 'literal' })}`, {
    ...style,
    parser: 'yaml'
  })
)
