/** Why the services run with each package that they, or the packages of this project that they use, name themselves. */
export const DEPENDENCY_REASONS: Readonly<Record<string, string>> = {
  '@bufbuild/protobuf': 'Reads and writes protobuf messages, for the code that ts-proto generates.',
  '@grpc/grpc-js': 'gRPC in pure JavaScript: the official implementation for Node.',
  '@grpc/reflection': 'Lets gRPC servers describe themselves to tools; off in production.',
  '@opentelemetry/api':
    'What the services call where a part of a trace begins and ends; does nothing by itself.',
  '@opentelemetry/context-async-hooks': 'Keeps track of which trace asynchronous work belongs to.',
  '@opentelemetry/core': 'Reads and writes the header that carries a trace (W3C Trace Context).',
  '@opentelemetry/exporter-trace-otlp-http': 'Sends traces to a collector (OTLP over HTTP).',
  '@opentelemetry/resources': 'Says in traces which process they come from.',
  '@opentelemetry/sdk-trace':
    'Records traces, and sends them in batches. Version 2: 3 does not run on Node 20.',
  '@prisma/adapter-pg': 'Puts Prisma on the one `pg` pool of each service.',
  '@prisma/client': 'The way to the database. Its query engine is WebAssembly: nothing native.',
  '@prisma/driver-adapter-utils': 'Types of the adapter through which migrations are applied.',
  '@prisma/schema-engine-wasm': 'Applies migrations without a native engine that would be downloaded.',
  'http-message-signatures': 'Writes the base of every signature that is made here (RFC 9421).',
  'grpc-health-check': 'The standard gRPC health service.',
  'ipaddr.js': 'Tells public addresses from private, mapped and reserved ones.',
  'lru-cache': 'Bounded caches: keys, tokens, documents.',
  'prom-client': 'Metrics in the format of Prometheus.',
  'find-my-way': 'Finds the route of a request.',
  'proxy-addr': 'Tells the address of a client behind proxies that are believed, as express does.',
  'raw-body': 'Reads bodies up to a limit, and stops there.',
  'sodium-native':
    'libsodium, which verifies an Ed25519 signature in half of the time that OpenSSL takes. Comes built; where there is no build, OpenSSL does it.',
  'structured-headers':
    'Parses and writes structured fields (RFC 8941, RFC 9651), on which signatures stand.',
  cookie: 'Parses and writes cookies (RFC 6265).',
  accepts: 'Chooses between a page and JSON, as a client would rather have it.',
  express: 'Routing of pages, and of what identity providers ask.',
  ioredis: 'Redis: single-use marks, rate limits, and messages between replicas.',
  jose: 'Imports JSON Web Keys (RFC 7517, RFC 8037), and computes their thumbprints (RFC 7638).',
  luxon: 'Calendar arithmetic for repeating intervals.',
  pg: 'PostgreSQL: the pools beneath Prisma, and the statements of the auth server.',
  pino: 'Logs as JSON lines.',
  undici: "Node's HTTP client, with a hook for checking the address that is connected to.",
  zod: 'Schemas of settings and of everything that callers send.'
}
