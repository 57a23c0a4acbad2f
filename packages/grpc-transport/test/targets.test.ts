import { describe, expect, it } from '@jest/globals'
import { isLoopbackTarget, isNamedTarget } from '../src/index.js'

describe('a target', () => {
  it.each([
    ['localhost:4004', true],
    ['dns:///localhost:4004', true],
    ['127.0.0.1:4004', true],
    ['ipv4:127.0.0.1:1,127.0.0.2:2', true],
    ['ipv6:[::1]:4004', true],
    ['[::1]:4004', true],
    ['unix:/run/auth-server', true],
    ['ipv4:127.0.0.1:1,10.0.0.1:2', false],
    ['auth-server-grpc:3002', false],
    ['dns:///auth-server-grpc:3002', false],
    ['dns://10.0.0.53/auth-server-grpc:3002', false],
    ['0.0.0.0:3002', false],
    ['localhost:', false],
    ['', false]
  ])('%s stays on this machine: %s', (target, expected) => {
    expect(isLoopbackTarget(target)).toBe(expected)
  })

  it.each([
    ['auth-server-grpc:3002', true],
    ['dns:///auth-server-grpc:3002', true],
    ['localhost:4004', true],
    ['10.0.0.1:3002', false],
    ['ipv4:10.0.0.1:3002', false],
    ['[::1]:4004', false],
    ['unix:/run/auth-server', false]
  ])('%s names its host: %s', (target, expected) => {
    expect(isNamedTarget(target)).toBe(expected)
  })
})
