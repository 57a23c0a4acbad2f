/** The Helm chart, made from the kustomize overlay for production. */
export { makeChart, type Values } from './chart.js'
