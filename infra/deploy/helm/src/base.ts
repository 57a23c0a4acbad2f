import { fileURLToPath } from 'node:url'
import { parseAllDocuments } from 'yaml'
import type { Helm } from '@open-payments-server/kubernetes'
import { runHelm } from './helm.js'

/** The chart. */
export const CHART = fileURLToPath(new URL('../open-payments/', import.meta.url))
/** The base of the kustomize overlays, as {@link renderBase} renders it. */
export const BASE = fileURLToPath(new URL('../../kubernetes/base/open-payments.yaml', import.meta.url))
/** The dashboards, which Helm reads only where they are in the chart. */
export const DASHBOARDS = fileURLToPath(new URL('../../observability/dashboards/', import.meta.url))
const VALUES = fileURLToPath(new URL('../../kubernetes/base/values.yaml', import.meta.url))

/** Labels that apply only to what Helm installs. */
export const LABELS_OF_HELM = ['instance', 'version', 'managed-by']
  .map((name) => `app.kubernetes.io/${name}`)
  .concat('helm.sh/chart')

/**
 * Renders the base of the overlays: the chart without settings, without Helm's labels and without what overlays set.
 *
 * @returns YAML, with the comments of the templates
 */
export async function renderBase(helm: Helm): Promise<string> {
  // An overlay sets the required settings of a service.
  const words = [
    'template',
    'open-payments',
    CHART,
    '--values',
    VALUES,
    '--skip-schema-validation',
    '--skip-tests'
  ]
  const documents = parseAllDocuments(await runHelm(helm, words))
  for (const document of documents) {
    document.deleteIn(['metadata', 'namespace'])
    for (const label of LABELS_OF_HELM) document.deleteIn(['metadata', 'labels', label])
  }
  const head =
    '# Made from infra/deploy/helm by infra/deploy/helm/scripts/write-derived.mjs. Do not edit it.\n'
  return `${head}${documents.map((document) => document.toString({ lineWidth: 0 })).join('')}`
}
