/** The Helm chart, and the files that are derived from it. */
export { BASE, CHART, DASHBOARDS, LABELS_OF_HELM, renderBase } from './base.js'
export { runHelm } from './helm.js'
export { settingsDefinitions } from './settings-schema.js'
