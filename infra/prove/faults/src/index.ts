/** A PostgreSQL of several machines that fails over. Rollouts happen on it, too. */
export { PatroniCluster } from './patroni/patroni-cluster.js'
