export { openStores, type Stores, type StoresContext, type StoresOptions } from './open-stores.js'
